"""The tools of Relay Event Hub: a module of handlers and a JSON contract for each tag."""
