"""A workspace: the servers of a monorepo, generated and checked together."""
