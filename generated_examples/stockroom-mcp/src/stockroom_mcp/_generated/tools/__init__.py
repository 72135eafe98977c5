"""The tools of Stockroom warehouse: a module of handlers and a JSON contract for each tag."""
