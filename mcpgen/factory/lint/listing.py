"""The lists of a server for its clients: tools, prompts and resources, and its instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.diagnostics import Location
from mcpgen.ir.client_checks import CheckedServer, read_text
from mcpgen.jsonschema.types import JsonObject, JsonValue

MAX_TEXTS = 200_000  # of one server


class Listing(Struct, frozen=True, kw_only=True):
    """The definitions of one server, as decoded JSON of any shape below the listed objects."""

    server: str  # its name, as the server states it or clients call it
    tools: Sequence[JsonObject]  # the Tool objects of `tools/list`, in its order
    unlisted: Sequence[JsonObject] = ()  # that can be called through search tools
    instructions: str = ""
    prompts: Sequence[JsonObject] = ()
    resources: Sequence[JsonObject] = ()
    has_search: bool = False  # search tools replace the list
    places: Mapping[str, Location] = field(default_factory=dict)  # of tools, by name
    has_unknown_tools: bool = False  # hand-written tools that only a running server lists

    @property
    def all_tools(self) -> Sequence[JsonObject]:
        """All tools that can be called, listed ones first."""
        return (*self.tools, *self.unlisted)

    @property
    def checked(self) -> CheckedServer:
        """The parts that the limits of clients apply to."""
        return CheckedServer(self.server, self.tools, self.instructions)

    @property
    def token_cost(self) -> int:
        """The estimated tokens of `tools/list`."""
        return sum(map(estimate_tokens, self.tools))


class Text(Struct, frozen=True):
    """One text that a client shows or sends to a model."""

    text: str
    field: str  # "name", "title", "description", "property", "enum", "default", "instructions", ...
    owner: str  # the name of its tool; "" for a text of the server, a prompt or a resource
    tokens: tuple[str, ...]  # JSON Pointer tokens inside of its owner
    what: str  # how a message calls it: "the description of `get_pet`"


_KEYWORD_FIELDS = {
    "$comment": "description",
    "const": "enum",
    "default": "default",
    "description": "description",
    "enum": "enum",
    "example": "example",
    "examples": "example",
    "pattern": "pattern",
    "title": "title",
}
_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})


def iterate_texts(listing: Listing) -> Iterator[Text]:
    """Yield every text of a server's definitions, at most `MAX_TEXTS`."""
    left = MAX_TEXTS
    for text in _iterate_all_texts(listing):
        if not left:
            return
        left -= 1
        yield text


def _iterate_all_texts(listing: Listing) -> Iterator[Text]:
    if listing.instructions:
        yield Text(listing.instructions, "instructions", "", ("instructions",), "the instructions")
    for tool in listing.all_tools:
        yield from _iterate_tool_texts(tool)
    for kind, entries in (("prompt", listing.prompts), ("resource", listing.resources)):
        for entry in entries:
            name = read_text(entry, "name")
            for key in ("name", "title", "description", "uri", "uriTemplate"):
                if text := read_text(entry, key):
                    at = (f"{kind}s", name, key)
                    yield Text(text, key, "", at, f"the {key} of {kind} `{name}`")
            arguments = entry.get("arguments")
            for argument in arguments if isinstance(arguments, list) else ():
                if isinstance(argument, dict):
                    for key in ("name", "description"):
                        if text := read_text(argument, key):
                            within = (f"{kind}s", name, "arguments", key)
                            yield Text(text, key, "", within, f"an argument of {kind} `{name}`")


def _iterate_tool_texts(tool: JsonObject) -> Iterator[Text]:
    name = read_text(tool, "name")
    for key in ("name", "title", "description"):
        if text := read_text(tool, key):
            yield Text(text, key, name, (key,), f"the {key} of `{name}`")
    annotations = tool.get("annotations")
    if isinstance(annotations, dict) and (text := read_text(annotations, "title")):
        yield Text(text, "title", name, ("annotations", "title"), f"the title of `{name}`")
    for key, what in (("inputSchema", "arguments"), ("outputSchema", "results")):
        for found, kind, tokens in _iterate_schema_texts(tool.get(key), (key,)):
            yield Text(found, kind, name, tokens, f"the {what} of `{name}` (/{'/'.join(tokens)})")


def _iterate_schema_texts(
    schema: JsonValue, tokens: tuple[str, ...]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield texts with their kinds and places; property names count as texts."""
    waiting: list[tuple[JsonValue, tuple[str, ...], str]] = [(schema, tokens, "")]
    while waiting:
        node, at, kind = waiting.pop()
        if isinstance(node, str):
            if kind:
                yield node, kind, at
        elif isinstance(node, list):
            waiting += [(each, (*at, str(number)), kind) for number, each in enumerate(node)]
        elif isinstance(node, dict):
            for key, value in node.items():
                inner = (*at, key)
                if kind:  # data: all texts in it are of the same kind
                    waiting.append((value, inner, kind))
                elif key in _MAPS and isinstance(value, dict):
                    for name, child in value.items():
                        yield name, "property", (*inner, name)
                        waiting.append((child, (*inner, name), ""))
                else:
                    waiting.append((value, inner, _KEYWORD_FIELDS.get(key, "")))
