"""Boolean settings in environment variables."""

from __future__ import annotations


def is_true(text: str) -> bool:
    """Return whether the value of a boolean setting is "1" or "true", in any case."""
    return text.strip().lower() in ("1", "true")
