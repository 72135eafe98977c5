"""Code mode: snippets of Python that call tools, in a sandbox."""
