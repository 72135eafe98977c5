"""Checks of a server's settings and command-line options before it starts to serve."""
