"""A shop's API as MCP tools; written by hand, in the form in which packages are generated."""

__version__ = "0.1.0"
