"""The mock API: validates each request against the document, and answers with samples."""
