"""Planning of tools: selection, settings, descriptions, results."""
