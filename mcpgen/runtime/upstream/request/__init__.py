"""From the arguments of a tool to the bytes of an HTTP request."""
