"""Places of functions, for messages about them."""

from __future__ import annotations

import inspect


def locate_source(function: object) -> str:
    """Return the file and line where a function begins, decorators included."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)
