"""Tasks: tool calls that outlive their request (extension `io.modelcontextprotocol/tasks`)."""
