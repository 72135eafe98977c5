"""From an HTTP response to a value, or to an error that a model can act on."""
