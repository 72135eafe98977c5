"""Hand-written and generated handlers: what they are, what they get, and how they are called."""
