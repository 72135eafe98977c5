"""The tools of Bookshop: a module of handlers and a JSON contract for each tag."""
