"""Hand-written and generated handlers: their definitions, their contexts, and their dispatch."""
