"""Names of tools, arguments, modules and classes."""
