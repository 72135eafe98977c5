"""The tools of Helpcenter: a module of handlers and a JSON contract for each tag."""
