"""The tools of Daybook Calendar: a module of handlers and a JSON contract for each tag."""
