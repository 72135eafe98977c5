"""Values between tools and code: results of tools for the code, and its result as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.errors import ToolError

_MAX_DEPTH: Final = 100
_MAX_BITS: Final = 63  # of an integer in JSON


def unwrap(result: ToolResult, result_key: str) -> Any:
    """Return the value of a tool's result: its structured content, else its text.

    Raises:
        ToolError: it has neither, but an image or another file.
    """
    structured = result.structured_content
    texts = [block.text for block in result.content if isinstance(block, Text)]
    if structured or (structured is not None and texts[:1] == ["{}"]):
        return structured.get(result_key) if result_key else structured
    if len(texts) < len(result.content):
        raise ToolError("It returned an image or a file, which code cannot use: call it directly.")
    return "\n".join(texts) if texts else None


def to_json(value: Any, depth: int = 0) -> Any:
    """Convert the result of code to JSON; what has no equivalent becomes text.

    Raises:
        ToolError: it is nested too deeply.
    """
    if depth > _MAX_DEPTH:
        raise ToolError("The result of the code is nested too deeply.")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        is_large = value.bit_length() > _MAX_BITS
        return f"an integer of {value.bit_length()} bits" if is_large else value
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else str(key): to_json(it, depth + 1)
            for key, it in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(it, depth + 1) for it in value]
    attributes = getattr(value, "attributes", None)  # an instance of a class of the code
    if isinstance(attributes, dict):
        return to_json(attributes, depth + 1)
    return str(value)
