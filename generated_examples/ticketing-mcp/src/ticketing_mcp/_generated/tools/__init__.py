"""The tools of Pavilion Desk: a module of handlers and a JSON contract for each tag."""
