"""The tools of Meta ads: a module of handlers and a JSON contract for each tag."""
