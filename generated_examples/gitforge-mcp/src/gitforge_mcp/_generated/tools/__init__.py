"""The tools of Gitforge: a module of handlers and a JSON contract for each tag."""
