"""From text to the IR: load, validate, resolve, lower."""
