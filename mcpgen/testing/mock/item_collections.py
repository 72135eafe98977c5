"""Detection of collections in an API document: paths whose items are created and deleted.

A collection has a POST, which creates an item, and a path below it that ends in a parameter, which
identifies one. Responses with an item must show which property identifies it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcpgen.jsonschema.schemas import UnusableSchemaError
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.mock.description import Description, MediaType, Operation, Parameter
from mcpgen.testing.mock.replies import choose_value, find_success
from mcpgen.text.media_types import is_json

_PARAMETER = re.compile(r"\{([^{}]*)\}")
_ITEM = "/{}"

Shape = tuple[str, str]
"""A source, and a path without the names of its parameters: ("", "/pets/{}")."""


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """The place of an item, or of a list of items, in a response: the whole body, or one member."""

    member: str  # "": the whole body
    schema: JsonSchema  # of the item
    example: JsonValue  # of the item, or the list
    whole: JsonValue  # an example of the body
    whole_schema: JsonSchema
    id_property: str = ""  # of an item: "id"


@dataclass(frozen=True, slots=True)
class ItemCollection:
    """A path that creates items, and the path of one item."""

    shape: Shape
    path: str  # "/pets"
    item_path: str  # "/pets/{petId}"
    parameter: Parameter  # the last one of `item_path`
    item: ItemPlace  # in the best response that has one
    operations: tuple[str, ...]  # keys of the operations of both paths

    @property
    def depth(self) -> int:
        """The number of parameters of the path; each combination of values has its own items."""
        return len(parameters_of(self.path))


def shape_of(operation: Operation) -> Shape:
    """Return an operation's path without the names of its parameters."""
    return operation.source, _PARAMETER.sub("{}", operation.path).rstrip("/")


def parameters_of(path: str) -> list[str]:
    """Return the names of a path's parameters, in order."""
    return _PARAMETER.findall(path)


def find_collections(api: Description) -> tuple[dict[Shape, ItemCollection], dict[str, str]]:
    """Return the collections by shape, in the document's order, and why other paths are none."""
    by_shape: dict[Shape, dict[str, Operation]] = {}
    for operation in api.operations.values():
        by_shape.setdefault(shape_of(operation), {})[operation.method] = operation
    found: dict[Shape, ItemCollection] = {}
    skipped: dict[str, str] = {}
    for (source, shape), methods in by_shape.items():
        path = next(iter(methods.values())).path
        items = by_shape.get((source, f"{shape}{_ITEM}"))
        if shape.endswith(_ITEM) and "POST" not in by_shape.get(
            (source, shape.removesuffix(_ITEM)), {}
        ):
            skipped[path] = "no POST on the path above creates one"
        elif "POST" in methods and items is None and not shape.endswith(_ITEM):
            skipped[path] = "no path below it names one of what its POST creates"
        elif "POST" in methods and items is not None:
            try:
                collection = _make_collection((source, shape), methods, items, api)
            except UnusableSchemaError as error:
                skipped[path] = str(error)
                continue
            if collection is None:
                skipped[path] = "no answer shows by which property an item is named"
            else:
                found[source, shape] = collection
    return found, skipped


def _make_collection(
    shape: Shape,
    methods: Mapping[str, Operation],
    items: Mapping[str, Operation],
    api: Description,
) -> ItemCollection | None:
    create, one = methods["POST"], next(iter(items.values()))
    name = parameters_of(one.path)[-1]
    parameter = next(it for it in one.parameters_in("path") if it.name == name)
    operations = tuple(it.key for it in (*methods.values(), *items.values()))
    for operation in filter(None, (items.get("GET"), create, items.get("PATCH"), items.get("PUT"))):
        for id_property in _list_id_names(name, create.path):
            if item := find_item(operation, id_property, api):
                api.responses.schemas.checker(item.schema)  # raises if the schema is unusable
                return ItemCollection(shape, create.path, one.path, parameter, item, operations)
    return None


def _list_id_names(parameter: str, path: str) -> tuple[str, ...]:
    """Return possible names of the property with the id, likeliest first."""
    noun = path.rstrip("/").rpartition("/")[2]
    return (parameter, "id", f"{noun}Id", f"{noun.removesuffix('s')}Id")


def find_item(operation: Operation, id_property: str, api: Description) -> ItemPlace | None:
    """Return the place of an item with an id property in an operation's success response.

    The spelling of the property may differ: `petId`, `pet_id`. None without an item, or with
    several.
    """
    media_type = _find_json_response(operation)
    if media_type is None:
        return None
    value, schema = choose_value(media_type, api), api.responses.of(media_type.schema)
    if not isinstance(value, dict):
        return None
    inner = api.responses.schemas.property_schema
    members = [(name, inner(schema, name), member) for name, member in value.items()]
    found = [
        ItemPlace(name, part, example, value, schema, property_name)
        for name, part, example in (("", schema, value), *members)
        if isinstance(example, dict)
        and (property_name := _find_property(id_property, part, example, api))
    ]
    return found[0] if len(found) == 1 or (found and not found[0].member) else None


def _find_property(target: str, schema: JsonSchema, example: JsonObject, api: Description) -> str:
    """Return the property with this name, in any spelling; "" without one."""
    declared = api.responses.schemas.property_names(schema)
    names = (*example, *sorted(declared))
    return next((name for name in names if fold_name(name) == fold_name(target)), "")


def find_list(operation: Operation, api: Description) -> ItemPlace | None:
    """Return the place of the list in an operation's success response; None unless it has one."""
    media_type = _find_json_response(operation)
    if media_type is None:
        return None
    schemas = api.responses.schemas
    value, schema = choose_value(media_type, api), api.responses.of(media_type.schema)
    if isinstance(value, list):
        return ItemPlace("", schemas.item_schema(schema), value, value, schema)
    members = value.items() if isinstance(value, dict) else ()
    lists = [(name, member) for name, member in members if isinstance(member, list)]
    if len(lists) != 1:
        return None
    ((name, member),) = lists
    of_items = schemas.item_schema(schemas.property_schema(schema, name))
    return ItemPlace(name, of_items, member, value, schema)


def _find_json_response(operation: Operation) -> MediaType | None:
    """Return the JSON media type of an operation's success response."""
    success = find_success(operation)
    content = success.content if success else ()
    return next((entry for entry in content if is_json(entry.media_type)), None)


def fold_name(name: str) -> str:
    """Normalize the spelling of a name: "petId", "pet_id" and "PetID" become "petid"."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
