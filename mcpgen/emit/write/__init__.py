"""Writing a project as a whole or not at all."""
