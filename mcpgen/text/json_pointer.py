"""JSON Pointers (RFC 6901): splitting into reference tokens and joining."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Reference tokens as a linked list, last first: a walk adds one small tuple for each node."""


def pointer_tokens(pointer: str) -> tuple[str, ...]:
    """Split a JSON Pointer into its reference tokens, unescaped (RFC 6901, section 4).

    "", the whole document, returns (); "/paths/~1pets" returns ("paths", "/pets").

    Raises:
        ValueError: `pointer` is not empty and does not start with "/".
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"invalid JSON Pointer, expected '/' at its start: {pointer!r}")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def json_pointer(tokens: Iterable[str | int]) -> str:
    """Escape reference tokens and join them into a JSON Pointer."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def path_tokens(path: Path) -> tuple[str, ...]:
    """Return the reference tokens of a path, first to last."""
    tokens: list[str] = []
    while path is not None:
        path, token = path
        tokens.append(str(token))
    return tuple(reversed(tokens))
