"""Decoding of XML bodies by the `xml` keywords of their schemas ("XML Object")."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, fromstring

from mcpgen.jsonschema.references import definition_name
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.mock.styles import Shape

_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_LEFT = 64  # references and `allOf`s in a row


class UnreadableError(ValueError):
    """A body that is not of its media type."""


def has_xml_shape(schema: JsonSchema, schemas: Schemas) -> bool:
    """Return whether a schema describes an XML element: an object or an array with a name."""
    if isinstance(schema, bool) or schemas.likely_types(schema) not in ({"object"}, {"array"}):
        return False
    return bool(_merge_xml_keywords(schema, schemas).get("name") or schema.get("$ref"))


def read_xml(body: bytes, schema: JsonSchema, schemas: Schemas) -> Shape:
    """Decode an XML document; scalars are texts.

    Raises:
        UnreadableError: it is not XML, or its root element has another name.
    """
    try:
        root = fromstring(body)  # noqa: S314  (written by the client under test)
    except ParseError as error:
        raise UnreadableError(f"it is not XML: {error}") from None
    expected = _merge_xml_keywords(schema, schemas).get("name")
    if expected is None and isinstance(schema, dict):
        expected = definition_name(schema.get("$ref", ""))
    if _local(root.tag) != expected:
        raise UnreadableError(f"its root element is `{_local(root.tag)}`, not `{expected}`")
    return _read_value(root, schema, schemas)


def _read_value(element: Element, schema: JsonSchema, schemas: Schemas) -> Shape:
    if element.get(_NIL) == "true":
        return None
    types = schemas.likely_types(schema)
    if types & {"array"}:
        item = schemas.item_schema(schema)
        return [_read_value(child, item, schemas) for child in element]
    if len(element) or types & {"object"}:
        return _read_members(element, schema, schemas)
    return element.text or ""


def _read_members(element: Element, schema: JsonSchema, schemas: Schemas) -> Shape:
    found: JsonObject = {}
    names = schemas.property_names(schema)
    attributes = {_local(name): text for name, text in element.attrib.items()}
    children = list(element)
    for name in sorted(names):
        declared = schemas.property_schema(schema, name)
        xml = _merge_xml_keywords(declared, schemas)
        own_name = xml.get("name", name)
        if xml.get("attribute") is True or xml.get("nodeType") == "attribute":
            if own_name in attributes:
                found[name] = attributes[own_name]
        elif xml.get("nodeType") in {"text", "cdata"}:
            text = "".join([element.text or "", *(child.tail or "" for child in element)])
            if text:
                found[name] = text
        elif "array" in schemas.likely_types(declared) and not _is_wrapped(xml):
            item = schemas.item_schema(declared)
            item_name = _merge_xml_keywords(item, schemas).get("name", name)
            taken = _take(children, item_name)
            if taken:
                found[name] = [_read_value(child, item, schemas) for child in taken]
        else:
            for child in _take(children, own_name)[:1]:
                found[name] = _read_value(child, declared, schemas)
    for child in children:  # not declared
        name = _local(child.tag)
        value = _read_value(child, schemas.property_schema(schema, name), schemas)
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def _take(children: list[Element], name: str) -> list[Element]:
    taken = [child for child in children if _local(child.tag) == name]
    children[:] = [child for child in children if _local(child.tag) != name]
    return taken


def _is_wrapped(xml: JsonObject) -> bool:
    return xml.get("wrapped") is True or xml.get("nodeType") == "element"


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _merge_xml_keywords(schema: JsonSchema, schemas: Schemas) -> JsonObject:
    """Return the merged `xml` keywords of a schema; the nearest have priority."""
    merged: JsonObject = {}
    for part in reversed(list(_list_parts(schema, schemas, _LEFT))):
        if isinstance(part.get("xml"), dict):
            merged |= part["xml"]
    return merged


def _list_parts(schema: JsonSchema, schemas: Schemas, left: int) -> Iterator[JsonObject]:
    if isinstance(schema, bool) or left == 0:
        return
    yield schema
    if isinstance(schema.get("$ref"), str):
        yield from _list_parts(schemas.target(schema["$ref"]), schemas, left - 1)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(keyword, ()):
            yield from _list_parts(part, schemas, left - 1)
