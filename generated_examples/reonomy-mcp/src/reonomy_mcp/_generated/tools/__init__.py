"""The tools of Reonomy: a module of handlers and a JSON contract for each tag."""
