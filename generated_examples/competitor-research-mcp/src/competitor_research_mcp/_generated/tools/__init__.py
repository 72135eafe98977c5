"""The tools of Competitor research: a module of handlers and a JSON contract for each tag."""
