"""The tools of a server as a user chooses among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.ir.client_checks import read_text
from mcpgen.jsonschema.types import JsonObject, JsonValue

Effect = Literal["read-only", "writes", "destructive", "effect unknown"]
MARKS: Final[dict[Effect, str]] = {
    "read-only": "R",
    "writes": "W",
    "destructive": "D",
    "effect unknown": "?",
}


class ExploredTool(Struct, frozen=True):
    """One tool, with what a server may have stated in any shape."""

    definition: JsonObject  # the Tool object of `tools/list`
    is_listed: bool = True  # False: it can be called, and is found through search tools only

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return read_text(self.definition, "name")

    @property
    def title(self) -> str:
        """The title for users, "" if there is none."""
        return read_text(self.definition, "title") or read_text(self._annotations, "title")

    @property
    def description(self) -> str:
        """The description for models."""
        return read_text(self.definition, "description")

    @property
    def effect(self) -> Effect:
        """Effect by its annotations, which are only hints of the server."""
        if self._annotations.get("readOnlyHint") is True:
            return "read-only"
        match self._annotations.get("destructiveHint"):
            case True:
                return "destructive"
            case False:
                return "writes"
        return "effect unknown"

    @property
    def tokens(self) -> int:
        """The estimated tokens of its definition."""
        return estimate_tokens(self.definition)

    @property
    def input_schema(self) -> JsonObject:
        """The schema of its arguments; {} if it is no object."""
        return _as_object(self.definition.get("inputSchema"))

    @property
    def _annotations(self) -> JsonObject:
        return _as_object(self.definition.get("annotations"))


def collect_tools(
    listed: Iterable[JsonValue], unlisted: Iterable[JsonObject] = ()
) -> list[ExploredTool]:
    """Return the listed tools, then others that can be called; entries without a name are omitted.

    A name that occurs twice is the first tool of this name.
    """
    tools: dict[str, ExploredTool] = {}
    for is_listed, definitions in ((True, listed), (False, unlisted)):
        for definition in definitions:
            tool = ExploredTool(_as_object(definition), is_listed)
            if tool.name:
                tools.setdefault(tool.name, tool)
    return list(tools.values())


def filter_tools(tools: Sequence[ExploredTool], text: str) -> list[ExploredTool]:
    """Return the tools that have every word of `text` in their name, title or description.

    Tools with all words in their names come first.
    """
    words = text.casefold().split()
    in_name = [it for it in tools if all(word in it.name.casefold() for word in words)]
    names = {it.name for it in in_name}
    elsewhere = [it for it in tools if it.name not in names and _mentions(it, words)]
    return [*in_name, *elsewhere]


def _mentions(tool: ExploredTool, words: Sequence[str]) -> bool:
    text = f"{tool.name} {tool.title} {tool.description}".casefold()
    return all(word in text for word in words)


def _as_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
