"""The tools of Kontor: a module of handlers and a JSON contract for each tag."""
