"""The words of a tool's result for the search: of its schemas, their members and descriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from mcpgen.ir.api import Operation
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.text.prose import plain_line, shorten_at_sentence

_MAX_DEPTH = 2  # of members inside members
_MAX_REFERENCES = 6  # from one schema to the next
_MAX_TEXT = 300  # characters of one description

_Texts: TypeAlias = Counter[tuple[bool, str]]
"""Counts of names and descriptions; the boolean of a key is whether it is a name."""


class ResultTexts:
    """The names and descriptions in the results of an API's operations.

    Schemas that refer to each other are read once, since the paths through them are too many.
    """

    def __init__(self, schemas: Mapping[str, JsonSchema]) -> None:
        self._schemas = schemas
        self._named: dict[tuple[str, int, int], _Texts] = {}

    def count(self, operation: Operation) -> tuple[Counter[str], Counter[str]]:
        """Count the names in the first successful result of an operation, and its descriptions."""
        names: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        for schema in _find_results(operation):
            for (is_name, text), count in self._iterate(schema, 0, _MAX_REFERENCES):
                (names if is_name else texts)[text] += count
        return names, texts

    def _iterate(
        self, schema: JsonValue, depth: int, references: int
    ) -> Iterator[tuple[tuple[bool, str], int]]:
        """Yield names and descriptions, each with how often it occurs."""
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and references:
            name = reference.rpartition("/")[2]
            yield (True, name), 1
            yield from self._count_schema(name, depth, references - 1).items()
        if depth < _MAX_DEPTH and isinstance(schema.get("description"), str):
            yield (False, shorten_at_sentence(plain_line(schema["description"]), _MAX_TEXT)), 1
        for name, member in schema.get("properties", {}).items():
            yield (True, name), 1
            yield from self._iterate(member, depth + 1, references)
        parts = (schema.get("items"), *(schema.get("allOf") or ()), *(schema.get("anyOf") or ()))
        for part in parts:
            yield from self._iterate(part, depth, references)

    def _count_schema(self, name: str, depth: int, references: int) -> _Texts:
        """Return how often each name and each description is in the component schema `name`."""
        key = (name, depth, references)
        if key not in self._named:
            counted: _Texts = Counter()
            for text, count in self._iterate(self._schemas.get(name, {}), depth, references):
                counted[text] += count
            self._named[key] = counted
        return self._named[key]


def _find_results(operation: Operation) -> list[JsonValue]:
    for response in operation.responses:
        if response.status.startswith("2"):
            return [media.schema for media in response.content[:1]]
    return []
