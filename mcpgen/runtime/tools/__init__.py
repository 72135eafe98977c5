"""Tools: their contracts, their calls, and what becomes of their results."""
