"""Check for NaN and infinities, which JSON cannot represent and the encoder writes as null."""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from mcpgen.runtime.content import ToolResult


def check_numbers(result: Any) -> None:
    """Check that the result of a hand-written function contains only finite numbers.

    Responses of an API were JSON and need no check.

    Raises:
        ValueError: a number is not finite; the text contains its JSON Pointer.
    """
    is_tool_result = isinstance(result, ToolResult)
    for value in (result.structured_content, result.meta) if is_tool_result else (result,):
        # The encoder is faster than a walk, and most values contain no null at all.
        if isinstance(value, dict | list | tuple | float) and b"null" in _encode(value):
            _check(value, "")


_encode = msgspec.json.Encoder().encode


def _check(value: Any, pointer: str) -> None:
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"`{pointer or '/'}` is {value}, which JSON cannot represent")
    elif isinstance(value, dict):
        for name, member in value.items():
            _check(member, f"{pointer}/{name}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check(item, f"{pointer}/{index}")
