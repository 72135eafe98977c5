"""The words of a tool's result for the search: of its schemas, their members and descriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct, field

from mcpgen.ir.api import Operation
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.search.words import words
from mcpgen.text.prose import plain_line, shorten_at_sentence

_MAX_DEPTH = 2  # of members inside members
_MAX_REFERENCES = 6  # from one schema to the next
_MAX_TEXT = 300  # characters of one description

_split = lru_cache(maxsize=20_000)(words)  # most names and texts are in several results


class ResultWords(Struct):
    """How often each word occurs in the names of a result, and in its descriptions."""

    names: Counter[str] = field(default_factory=Counter)
    descriptions: Counter[str] = field(default_factory=Counter)


class ResultReader:
    """Counts the words in the result schemas of an API, for the search index.

    Schemas that refer to each other are read once, since the paths through them are too many.
    """

    def __init__(self, schemas: Mapping[str, JsonSchema]) -> None:
        self._schemas = schemas
        self._counted: dict[tuple[str, int, int], ResultWords] = {}

    def count(self, operation: Operation) -> ResultWords:
        """Count the words of the first successful result of an operation."""
        found = ResultWords()
        for response in operation.responses:
            if response.status.startswith("2"):
                for media in response.content[:1]:
                    self._add(media.schema, 0, _MAX_REFERENCES, found)
                break
        return found

    def _add(self, schema: JsonValue, depth: int, references: int, found: ResultWords) -> None:
        """Add the words of a schema to `found`."""
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and references:
            name = reference.rpartition("/")[2]
            found.names.update(_split(name))
            counted = self._count_schema(name, depth, references - 1)
            found.names.update(counted.names)
            found.descriptions.update(counted.descriptions)
        if depth < _MAX_DEPTH and isinstance(schema.get("description"), str):
            text = shorten_at_sentence(plain_line(schema["description"]), _MAX_TEXT)
            found.descriptions.update(_split(text))
        for name, member in schema.get("properties", {}).items():
            found.names.update(_split(name))
            self._add(member, depth + 1, references, found)
        for part in (schema.get("items"), *schema.get("allOf", ()), *schema.get("anyOf", ())):
            self._add(part, depth, references, found)

    def _count_schema(self, name: str, depth: int, references: int) -> ResultWords:
        """Return the words of the component schema `name`."""
        key = (name, depth, references)
        if key not in self._counted:
            found = ResultWords()
            self._add(self._schemas.get(name, {}), depth, references, found)
            self._counted[key] = found
        return self._counted[key]
