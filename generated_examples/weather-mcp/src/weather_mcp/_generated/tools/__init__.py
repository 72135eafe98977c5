"""The tools of Isobar weather: a module of handlers and a JSON contract for each tag."""
