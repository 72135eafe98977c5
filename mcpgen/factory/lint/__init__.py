"""Checks of the definitions that a server sends to clients: tools, prompts, resources."""
