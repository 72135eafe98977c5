"""NaN and the infinities, which JSON has no numbers for and the hot encoder writes as null."""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from mcpgen.runtime.content import ToolResult


def check_numbers(given: Any) -> None:
    """Return if what a hand-written function gives has only numbers that JSON has.

    What an API answers was JSON and needs no look.

    Raises:
        ValueError: it has another; says where.
    """
    is_whole = isinstance(given, ToolResult)
    for value in (given.structured_content, given.meta) if is_whole else (given,):
        # The encoder is faster than a walk, and most values have no null at all.
        if isinstance(value, dict | list | tuple | float) and b"null" in _encode(value):
            _check(value, "")


_encode = msgspec.json.Encoder().encode


def _check(value: Any, pointer: str) -> None:
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"`{pointer or '/'}` is {value}, which JSON has no number for")
    elif isinstance(value, dict):
        for name, member in value.items():
            _check(member, f"{pointer}/{name}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check(item, f"{pointer}/{index}")
