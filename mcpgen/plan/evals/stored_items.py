"""The collections whose items the stateful mock stores, as the plan of a server shows them.

The mock finds them in its own description of the API (`testing.mock.item_collections`); here they
are found by the same rule: a POST creates an item, a path below names one, and a response shows the
member that identifies it. Tests run the tasks that are made from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from mcpgen.ir.api import Operation
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.samples import CannotSampleError, Samples
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.arguments.media_types import is_json
from mcpgen.plan.cases.calls import get_schema
from mcpgen.plan.tools.identifier_sources import iterate_collections
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.uri_template import mask_variables

_ITEM = "/{}"
CollectionKey: TypeAlias = tuple[str, str]
"""The source of a collection, and its masked path without the last slash."""


class ItemPlace(Struct, frozen=True):
    """The place of an item in the response of an operation, with an example of it."""

    member: str  # "": the whole body
    id_member: str  # "id"
    example: JsonObject

    @property
    def pointer(self) -> str:
        """The JSON Pointer to the id in the response."""
        return json_pointer(filter(None, (self.member, self.id_member)))


class StoredItems(Struct, frozen=True):
    """A collection of the mock."""

    source: str
    path: str  # "/pets"
    parameter: str  # of the path of an item: "petId"
    by_method: Mapping[str, ToolPlan]  # tools of the path of an item
    create: ToolPlan
    created: ItemPlace | None  # in the response of `create`
    id_member: str  # of an item: "id"
    known_id: JsonValue  # of an item at the start; None if there is none


class ItemCollections:
    """The collections of a server. Each is examined when it is first needed: samples take long."""

    def __init__(self, tools: Iterable[ToolPlan], answered: Samples) -> None:
        self._answered = answered
        self._by_path: dict[CollectionKey, dict[str, ToolPlan]] = {}
        for tool in tools:
            self._by_path.setdefault(_find_key(tool), {})[tool.operation.method] = tool
        self._examined: dict[CollectionKey, StoredItems | None] = {}

    def iterate(self) -> Iterator[tuple[CollectionKey, Mapping[str, ToolPlan]]]:
        """Yield what may be a collection, with the tools of the path of an item by method."""
        for key, methods in self._by_path.items():
            if "POST" in methods and (items := self._get_item_tools(key)):
                yield key, items

    def find(self, key: CollectionKey) -> StoredItems | None:
        """Return a collection; None if there is none, or no response shows an item."""
        if key not in self._examined:
            self._examined[key] = None
            create, items = self._by_path.get(key, {}).get("POST"), self._get_item_tools(key)
            if create is not None and items:
                self._examined[key] = _describe(create, items, self._answered)
        return self._examined[key]

    def find_target(self, tool: ToolPlan) -> StoredItems | None:
        """Return the collection to which a tool adds an item; None if it adds to none."""
        stored = self.find(_find_key(tool))
        return stored if stored is not None and stored.create.name == tool.name else None

    def _get_item_tools(self, key: CollectionKey) -> Mapping[str, ToolPlan]:
        source, path = key
        return self._by_path.get((source, f"{path}{_ITEM}"), {})


def _find_key(tool: ToolPlan) -> CollectionKey:
    return tool.operation.source, mask_variables(tool.operation.path).rstrip("/")


def _describe(
    create: ToolPlan, items: Mapping[str, ToolPlan], answered: Samples
) -> StoredItems | None:
    parameter = _last_variable(next(iter(items.values())).operation.path)
    names = _list_id_names(parameter, create.operation.path)
    created = _find_item(create.operation, names, answered)
    places = (
        _find_item(items[method].operation, names, answered)
        for method in ("GET", "PATCH", "PUT")
        if method in items
    )
    shown = next(places, None) or created or next(filter(None, places), None)
    if shown is None:
        return None
    source, path = create.operation.source, create.operation.path.rstrip("/")
    known = shown.example.get(shown.id_member)
    return StoredItems(source, path, parameter, items, create, created, shown.id_member, known)


def iterate_parents(operation: Operation) -> Iterator[tuple[str, CollectionKey]]:
    """Yield each path parameter that names an item, with the key of its collection."""
    for variable, path in iterate_collections(operation):
        yield variable, (operation.source, mask_variables(path))


def read_example(operation: Operation, answered: Samples) -> tuple[JsonValue, JsonSchema]:
    """Return an example of the first successful JSON response, and its schema.

    Raises:
        CannotSampleError: there is none.
    """
    for response in operation.responses:
        for media_type in response.content if response.status.startswith("2") else ():
            if is_json(media_type.media_type):
                schema = get_schema(media_type)
                return answered.choose_example(schema, media_type.examples), schema
    raise CannotSampleError("no JSON response")


def _find_item(operation: Operation, names: Iterable[str], answered: Samples) -> ItemPlace | None:
    """Return the item in a response: the body, or the one member that has an id."""
    with suppress(CannotSampleError):
        body, _ = read_example(operation, answered)
        if not isinstance(body, dict):
            return None
        for name in names:
            folded = _fold(name)
            if own := _find_id(body, folded):
                return ItemPlace("", own, body)
            inner = {
                member: found
                for member, value in body.items()
                if isinstance(value, dict) and (found := _find_id(value, folded))
            }
            if len(inner) == 1:
                ((member, found),) = inner.items()
                return ItemPlace(member, found, body[member])
    return None


def _find_id(item: JsonObject, folded: str) -> str:
    fitting = (name for name in item if _fold(name) == folded)
    name: str = next(fitting, "")
    value = item.get(name, "")
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return name if is_id else ""


def _list_id_names(parameter: str, path: str) -> tuple[str, ...]:
    noun = path.rstrip("/").rpartition("/")[2]
    return (parameter, "id", f"{noun}Id", f"{noun.removesuffix('s')}Id")


def _last_variable(path: str) -> str:
    return str(re.findall(r"\{([^{}]*)\}", path)[-1])


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
