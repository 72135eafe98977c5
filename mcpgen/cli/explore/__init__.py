"""The terminal view of `mcpgen explore`, thin over `mcpgen.factory.explore`."""
