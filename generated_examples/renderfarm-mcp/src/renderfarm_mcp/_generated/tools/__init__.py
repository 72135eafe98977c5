"""The tools of Lumen Render: a module of handlers and a JSON contract for each tag."""
