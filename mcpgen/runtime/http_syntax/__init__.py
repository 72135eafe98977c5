"""Syntax that requests and responses of HTTP/1.1 share, without I/O."""
