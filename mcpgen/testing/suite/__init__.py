"""The tests that a generated package carries."""
