"""Hand-written tools and overrides. mcpgen created this file and never changes it."""
