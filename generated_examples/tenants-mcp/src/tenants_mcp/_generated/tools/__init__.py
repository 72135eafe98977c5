"""The tools of Fieldnote: a module of handlers and a JSON contract for each tag."""
