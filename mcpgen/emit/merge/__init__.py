"""Three-way merges of files that both the user and mcpgen change."""
