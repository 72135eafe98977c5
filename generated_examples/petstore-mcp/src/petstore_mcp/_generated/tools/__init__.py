"""The tools of Petstore: a module of handlers and a JSON contract for each tag."""
