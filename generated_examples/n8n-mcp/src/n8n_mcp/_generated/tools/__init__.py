"""The tools of n8n: a module of handlers and a JSON contract for each tag."""
