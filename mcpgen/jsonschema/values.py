"""Values between the steps of a workflow: found, compared, and left out where they are absent."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpgen.absent import ABSENT

_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def value_at(value: Any, pointer: str) -> Any:
    """Give what stands in a value at a JSON Pointer (RFC 6901); ABSENT where nothing does."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return ABSENT
    return value


def without_absent(value: Any) -> Any:
    """Give a value without the members and items that are ABSENT; None where all of it is."""
    if isinstance(value, dict):
        return {name: without_absent(item) for name, item in value.items() if item is not ABSENT}
    if isinstance(value, list):
        return [without_absent(item) for item in value if item is not ABSENT]
    return None if value is ABSENT else value


def compare(left: Any, comparison: str, right: Any) -> bool:
    """Compare as Arazzo's simple conditions do: texts without regard to case; ABSENT as null.

    What has no order, such as a number and a text, is neither less nor greater.
    """
    left, right = _comparable(left), _comparable(right)
    if comparison in ("==", "!="):
        is_equal = left == right and isinstance(left, bool) is isinstance(right, bool)
        return is_equal is (comparison == "==")
    are_numbers = _is_number(left) and _is_number(right)
    are_texts = isinstance(left, str) and isinstance(right, str)
    return (are_numbers or are_texts) and _ORDER[comparison](left, right)


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    return None if value is ABSENT else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
