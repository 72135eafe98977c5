"""The tools of Lindenhof Clinic: a module of handlers and a JSON contract for each tag."""
