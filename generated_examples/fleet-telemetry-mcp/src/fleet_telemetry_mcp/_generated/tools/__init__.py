"""The tools of Wayfleet: a module of handlers and a JSON contract for each tag."""
