"""The tools of Chatdesk: a module of handlers and a JSON contract for each tag."""
