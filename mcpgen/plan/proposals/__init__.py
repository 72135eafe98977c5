"""Proposed entries of the manifest, from indications in the document."""
