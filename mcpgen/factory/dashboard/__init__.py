"""The state of all servers of a workspace as one HTML file: `mcpgen dashboard`."""
