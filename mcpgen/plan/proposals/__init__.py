"""Entries of the manifest that the owner may want, from what the document indicates."""
