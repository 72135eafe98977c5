"""How toolsets are called: on the command line of a server, and in its manifest."""

from __future__ import annotations

EVERYTHING = "all"  # names every tool, and no toolset


def plain_name(name: str) -> str:
    """Give a toolset's name as names are compared: lower case, its words joined by `_`."""
    kept = (character if character.isalnum() else " " for character in name.lower())
    return "_".join("".join(kept).split())
