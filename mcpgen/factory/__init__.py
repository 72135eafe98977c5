"""Commands beyond generation: tests, mutation tests, and workspaces of several servers."""
