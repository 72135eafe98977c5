"""From an OpenAPI document to the IR: load, resolve, validate, lower."""
