"""The tools of Wayside Travel: a module of handlers and a JSON contract for each tag."""
