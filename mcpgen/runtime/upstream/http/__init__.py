"""The HTTP/1.1 client of a server."""
