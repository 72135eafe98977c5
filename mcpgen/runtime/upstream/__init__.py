"""From a tool call to an exact HTTP request, and from its response to a result."""
