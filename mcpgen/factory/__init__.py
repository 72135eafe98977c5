"""Commands about generated servers: test, validate, lint, review."""
