"""The tools of Harbor desk: a module of handlers and a JSON contract for each tag."""
