"""Tools: their contracts, their calls, and the processing of their results."""
