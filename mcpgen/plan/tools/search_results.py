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


@lru_cache(maxsize=20_000)  # most names and texts are in several tools and results
def list_stems(text: str) -> tuple[str, ...]:
    """Return what `words` does."""
    return tuple(words(text))


class ResultWords(Struct, frozen=True):
    """How often each word occurs in the names of a result, and in its descriptions."""

    names: Counter[str] = field(default_factory=Counter)
    descriptions: Counter[str] = field(default_factory=Counter)


class _Found(Struct, frozen=True):
    """Words that one schema states, and those of the schemas that it refers to."""

    names: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    referenced: list[ResultWords] = field(default_factory=list)

    def count(self) -> ResultWords:
        counted = ResultWords(Counter(self.names), Counter(self.descriptions))
        for other in self.referenced:
            counted.names.update(other.names)
            counted.descriptions.update(other.descriptions)
        return counted


class ResultReader:
    """Counts the words in the result schemas of an API, for the search index.

    Schemas that refer to each other are read once, since the paths through them are too many.
    """

    def __init__(self, schemas: Mapping[str, JsonSchema]) -> None:
        self._schemas = schemas
        self._counted: dict[tuple[str, int, int], ResultWords] = {}

    def count(self, operation: Operation) -> ResultWords:
        """Count the words of the first successful result of an operation."""
        found = _Found()
        for response in operation.responses:
            if response.status.startswith("2"):
                for media in response.content[:1]:
                    self._add(media.schema, 0, _MAX_REFERENCES, found)
                break
        return found.count()

    def _add(self, schema: JsonValue, depth: int, references: int, found: _Found) -> None:
        """Add the words of a schema to `found`."""
        if not isinstance(schema, dict):
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and references:
            name = reference.rpartition("/")[2]
            found.names.extend(list_stems(name))
            found.referenced.append(self._count_schema(name, depth, references - 1))
        if depth < _MAX_DEPTH and isinstance(schema.get("description"), str):
            text = shorten_at_sentence(plain_line(schema["description"]), _MAX_TEXT)
            found.descriptions.extend(list_stems(text))
        for name, member in schema.get("properties", {}).items():
            found.names.extend(list_stems(name))
            if depth < _MAX_DEPTH:
                self._add(member, depth + 1, references, found)
        if "items" in schema:
            self._add(schema["items"], depth, references, found)
        for part in (*schema.get("allOf", ()), *schema.get("anyOf", ())):
            self._add(part, depth, references, found)

    def _count_schema(self, name: str, depth: int, references: int) -> ResultWords:
        """Return the words of the component schema `name`."""
        key = (name, depth, references)
        if key not in self._counted:
            found = _Found()
            self._add(self._schemas.get(name, {}), depth, references, found)
            self._counted[key] = found.count()
        return self._counted[key]
