"""The tools of Storefront: a module of handlers and a JSON contract for each tag."""
