"""Values that a parameter can carry without ambiguity, by location and style."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mcpgen.ir.api import Operation, Parameter
from mcpgen.jsonschema.references import iterate_parts
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.arguments.media_types import is_json

_DELIMITERS = {"spaceDelimited": " ", "tabDelimited": "\t", "pipeDelimited": "|"}


def travels(parameter: Parameter, value: JsonValue) -> bool:
    """Check whether a parameter can carry a value without ambiguity."""
    if is_json(parameter.content_type):
        return True
    if has_empty(value):
        return False
    texts = list(_iterate_texts(value))
    is_composite = isinstance(value, list | dict)
    delimiter = _DELIMITERS.get(parameter.style, "")
    if parameter.location == "path":
        return all(
            text.isprintable()
            and text not in {"", ".", ".."}
            and not (delimiter and is_composite and delimiter in text)
            for text in texts
        )
    separators = delimiter
    if parameter.location == "header" or parameter.style == "cookie":
        if not all(text.isascii() and text.isprintable() for text in texts):
            return False
        separators = (delimiter or ",=") if is_composite else ""
        if any(text != text.strip() or (not text and delimiter.isspace()) for text in texts):
            return False
    if parameter.style == "cookie":
        separators += ' ",;&\\'
    return not any(set(separators) & set(text) for text in texts)


def is_mistaken_for_others(
    parameter: Parameter, value: JsonValue, operation: Operation, schemas: Schemas
) -> bool:
    """Whether members of an exploded object travel as if they were other parameters' values."""
    if not (_is_spread(parameter) and isinstance(value, dict)):
        return False
    others: set[str] = set()
    is_first = True
    for other in operation.parameters:
        if other is parameter:
            is_first = False
        elif other.location == parameter.location:
            others.add(other.name)
            if _is_spread(other):
                others |= schemas.property_names(other.schema)
                if is_first and any(_is_described(name, other, schemas) for name in value):
                    return True
    return not others.isdisjoint(value)


def _is_described(name: str, parameter: Parameter, schemas: Schemas) -> bool:
    """Whether a parameter's schema describes members with this name; a map describes all."""
    return not isinstance(schemas.property_schema(parameter.schema, name), bool)


def _is_spread(parameter: Parameter) -> bool:
    return parameter.explode and parameter.style in ("form", "cookie")


def has_empty(value: JsonValue) -> bool:
    """Whether a value contains an empty list or object, which styles cannot represent."""
    return value in ({}, []) or any(map(has_empty, _list_members(value)))


def remove_empty(value: JsonValue) -> JsonValue:
    """Return a value without empty lists and objects as members."""
    if isinstance(value, list):
        return [remove_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = ((name, remove_empty(item)) for name, item in value.items())
    return {name: item for name, item in members if item not in ({}, [])}


def has_null(value: JsonValue) -> bool:
    """Whether a value is null or contains null."""
    return value is None or any(map(has_null, _list_members(value)))


def drop_shared_elements(value: JsonValue, schema: JsonSchema, schemas: Schemas) -> JsonValue:
    """Remove the members that XML would write as elements with the same name as another member.

    The items of two lists without wrappers are such elements if their `xml` has the same name
    (OpenAPI 3.2, "XML Object"). The first member by name is kept.
    """
    if isinstance(value, list):
        item = schemas.item_schema(schema)
        return [drop_shared_elements(each, item, schemas) for each in value]
    if not isinstance(value, dict):
        return value
    declared = {
        name: schemas.property_schema(schema, name)
        for name in sorted(schemas.property_names(schema) | value.keys())
    }
    owners: dict[tuple[str, bool], str] = {}
    for name, member in declared.items():
        owners.setdefault(_identify_xml_node(name, member, schemas), name)
    kept = set(owners.values())
    return {
        name: drop_shared_elements(member, declared[name], schemas)
        for name, member in value.items()
        if name in kept
    }


def _identify_xml_node(name: str, schema: JsonSchema, schemas: Schemas) -> tuple[str, bool]:
    """Return the name of the elements or of the attribute of a member, and if it is the latter."""
    xml = _merge_xml(schema, schemas)
    kind = xml.get("nodeType")
    if xml.get("attribute") is True or kind == "attribute":
        return xml.get("name", name), True
    is_wrapped = xml.get("wrapped") is True or kind == "element"
    if schemas.likely_types(schema) & {"array"} and not is_wrapped:
        xml = _merge_xml(schemas.item_schema(schema), schemas)
    return xml.get("name", name), False


def _merge_xml(schema: JsonSchema, schemas: Schemas) -> JsonObject:
    """Return the merged `xml` of a schema and its parts; the nearest have priority."""
    merged: JsonObject = {}
    for part in reversed(list(iterate_parts(schema, schemas.named))):
        if isinstance(part.get("xml"), dict):
            merged |= part["xml"]
    return merged


def _list_members(value: JsonValue) -> Collection[JsonValue]:
    """Return the values directly in an object or a list."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _iterate_texts(value: JsonValue) -> Iterator[str]:
    """Yield all strings in a value, with the names of members."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        yield from value
    for item in _list_members(value):
        yield from _iterate_texts(item)
