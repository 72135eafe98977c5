"""The tools of Halden Sky Archive: a module of handlers and a JSON contract for each tag."""
