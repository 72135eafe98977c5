"""Schemas of tools, and the Python types that they become."""
