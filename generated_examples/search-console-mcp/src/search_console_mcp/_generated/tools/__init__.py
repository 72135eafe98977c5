"""The tools of Google Search Console: a module of handlers and a JSON contract for each tag."""
