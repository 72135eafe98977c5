"""The skills of a server: what each is about, and what it says."""
