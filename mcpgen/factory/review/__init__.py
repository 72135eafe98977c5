"""Review of what changed in a server since a revision: for pull requests."""
