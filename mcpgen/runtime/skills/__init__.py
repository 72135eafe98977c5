"""The skills of a server, which its clients read as resources."""
