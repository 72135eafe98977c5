"""The tools of Surveys: a module of handlers and a JSON contract for each tag."""
