"""The tests of a server: running them, mutation testing of them, and the evidence of both."""
