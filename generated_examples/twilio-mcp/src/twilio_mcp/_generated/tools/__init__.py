"""The tools of Twilio messaging: a module of handlers and a JSON contract for each tag."""
