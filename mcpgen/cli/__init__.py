"""The command line: one module a command, and one that prints."""
