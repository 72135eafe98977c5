"""References to results of earlier calls in `evals/tasks.yaml`: `$calls.create#/id`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.types import JsonValue
from mcpgen.jsonschema.values import value_at

_REFERENCE: Final = re.compile(r"\$calls\.([A-Za-z_][A-Za-z0-9_-]*)#((?:/[^{}]*)?)")
_EMBEDDED: Final = re.compile(rf"\{{{_REFERENCE.pattern}\}}")


class UnresolvedError(ValueError):
    """A reference to a result that has no such value."""


def make_reference(call: str, pointer: str) -> str:
    """Return the reference to a value in the result of a call."""
    return f"$calls.{call}#{pointer}"


def find_references(text: str) -> Iterator[str]:
    """Yield the ids of the calls that a text refers to."""
    whole = _REFERENCE.fullmatch(text)
    yield from [whole[1]] if whole else (match[1] for match in _EMBEDDED.finditer(text))


def mask_references(text: str) -> str:
    """Return a text with `{}` in the place of each reference in braces."""
    return _EMBEDDED.sub("{}", text)


def resolve(value: JsonValue, results: Mapping[str, JsonValue]) -> JsonValue:
    """Return a value with the results of calls in the place of its references.

    Raises:
        UnresolvedError: a call has no result, or its result has no such value.
    """
    if isinstance(value, dict):
        return {name: resolve(each, results) for name, each in value.items()}
    if isinstance(value, list):
        return [resolve(each, results) for each in value]
    if not isinstance(value, str):
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole:
        return _look_up(whole[1], whole[2], results)
    return _EMBEDDED.sub(lambda match: str(_look_up(match[1], match[2], results)), value)


def _look_up(call: str, pointer: str, results: Mapping[str, JsonValue]) -> JsonValue:
    found = value_at(results.get(call, ABSENT), pointer)
    if found is ABSENT:
        raise UnresolvedError(f"the result of `{call}` has nothing at `{pointer}`")
    return found
