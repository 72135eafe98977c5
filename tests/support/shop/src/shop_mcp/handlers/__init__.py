"""Overrides of generated handlers, and tools of your own."""
