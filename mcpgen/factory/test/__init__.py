"""The tests of a server: running them, what they are worth, and the evidence of both."""
