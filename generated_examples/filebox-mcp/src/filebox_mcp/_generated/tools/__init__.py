"""The tools of Filebox: a module of handlers and a JSON contract for each tag."""
