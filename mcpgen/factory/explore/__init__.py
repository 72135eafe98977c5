"""Exploration of a server: its tools, forms for their arguments, and calls."""
