"""What a call takes: arguments, fixed values, settings and credentials."""
