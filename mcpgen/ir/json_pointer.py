"""JSON Pointers (RFC 6901), as every stage spells places inside a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Reference tokens, last first, as a walk keeps them: one small tuple a node, no pointer built."""


def pointer_tokens(pointer: str) -> tuple[str, ...]:
    """Split a JSON Pointer into its reference tokens, unescaped (RFC 6901, section 4).

    The whole document, "", gives (); "/paths/~1pets" gives ("paths", "/pets").

    Raises:
        ValueError: `pointer` is not empty and does not start with "/".
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON Pointer starts with '/': {pointer!r}")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def json_pointer(tokens: Iterable[str | int]) -> str:
    """Join reference tokens into a JSON Pointer, escaped."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def path_tokens(path: Path) -> tuple[str, ...]:
    """Give the reference tokens of a path, first to last."""
    tokens: list[str] = []
    while path is not None:
        path, token = path
        tokens.append(str(token))
    return tuple(reversed(tokens))
