"""Hand-written code of this server. mcpgen created this file and never changes it."""
