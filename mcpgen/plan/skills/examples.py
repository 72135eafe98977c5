"""Example calls for skills, from the cases that the generated tests run."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.cases.entries import EXAMPLE_CALL


class _Call(msgspec.Struct):
    what: str = ""
    arguments: JsonObject = msgspec.field(default_factory=dict)
    without: list[str] = []


class _Entry(msgspec.Struct):
    """An entry of `cases.json` or `workflows.json`; its other members are skipped."""

    tool: str
    calls: list[_Call] = msgspec.field(default_factory=list)
    arguments: JsonObject = msgspec.field(default_factory=dict)


_decode = msgspec.json.Decoder(_Entry).decode


def collect_examples(cases: Iterable[bytes]) -> dict[str, JsonObject]:
    """Return the arguments of one call of each tool and workflow that the generated tests make.

    It is the call with the document's examples, or else the smallest one.
    """
    return {entry.tool: _choose_arguments(entry) for entry in map(_decode, cases)}


def _choose_arguments(entry: _Entry) -> JsonObject:
    if not entry.calls:
        return entry.arguments
    smallest = entry.calls[0].arguments
    shown = next((call for call in entry.calls if call.what == EXAMPLE_CALL), entry.calls[0])
    merged = {**smallest, **shown.arguments}
    return {name: value for name, value in merged.items() if name not in shown.without}
