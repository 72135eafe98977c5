"""From workflows to tools whose steps fit their operations."""
