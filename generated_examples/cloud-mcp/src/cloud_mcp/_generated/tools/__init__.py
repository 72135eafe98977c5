"""The tools of Stratus Cloud: a module of handlers and a JSON contract for each tag."""
