"""Names of toolsets on the command line of a server and in its manifest."""

from __future__ import annotations

EVERYTHING = "all"  # reserved name: all tools


def normalize_toolset_name(name: str) -> str:
    """Normalize a toolset's name for comparison: lower case, words joined by `_`."""
    words = (character if character.isalnum() else " " for character in name.lower())
    return "_".join("".join(words).split())
