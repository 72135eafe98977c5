"""Accounts of the local user of a server over stdio: `login`, `logout` and their tokens."""
