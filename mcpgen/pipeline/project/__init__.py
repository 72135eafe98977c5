"""A project on disk: its folder, sources, evidence and caches."""
