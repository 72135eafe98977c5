"""Planning of workflows as tools."""
