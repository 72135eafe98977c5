"""Mutation testing of a server: one fault at a time is inserted, and its tests must fail."""
