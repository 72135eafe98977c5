"""Serialization of XML bodies by the `xml` keywords of schemas (OpenAPI 3.2, "XML Object")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.request.body_schemas import (
    PartSchemas,
    describe,
    find_items,
    find_property,
)
from mcpgen.runtime.upstream.request.parameters import UnsendableError, format_primitive

_NAME = re.compile(r"[^\W\d][\w.\-]*(?::[^\W\d][\w.\-]*)?\Z")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2
_NIL = (("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"), ("xsi:nil", "true"))


def render_xml(value: Any, root: str, schema: JsonObject, charset: str) -> str:
    """Serialize a value as an XML document with the root element `root`.

    Raises:
        UnsendableError: a character or a name is invalid in XML, or an object or array is in the
            place of an attribute or a text.
    """
    element = _Writer(schema).write_element(root, value, describe(schema, schema), ())
    return f'<?xml version="1.0" encoding="{charset.upper()}"?>{element}'


@dataclass(slots=True)
class _ElementParts:
    """Attributes and content of an element."""

    attributes: list[tuple[str, str]] = field(default_factory=list)
    content: list[str] = field(default_factory=list)


Scope = tuple[tuple[str, str], ...]  # the namespace declarations in scope


class _Writer:
    def __init__(self, root: JsonObject) -> None:
        self._root = root

    def write_element(self, name: str, value: Any, whole: PartSchemas, scope: Scope) -> str:
        xml = _merge_xml(whole)
        tag = _qualify(name, xml)
        inside = _ElementParts()
        declared = tuple(_declare_namespace(xml))
        if declared and declared[0] not in scope:
            inside.attributes += declared
            scope = (*(pair for pair in scope if pair[0] != declared[0][0]), *declared)
        if value is None:
            inside.attributes += _NIL
        elif isinstance(value, dict):
            self._add_members(inside, value, whole, scope)
        elif isinstance(value, (list, tuple)):
            self._add_items(inside, name, value, whole, scope)
        else:
            inside.content.append(_escape_text(format_primitive(value)))
        attributes = "".join(f' {key}="{text}"' for key, text in inside.attributes)
        content = "".join(inside.content)
        return f"<{tag}{attributes}>{content}</{tag}>" if content else f"<{tag}{attributes}/>"

    def _add_members(
        self, inside: _ElementParts, value: JsonObject, whole: PartSchemas, scope: Scope
    ) -> None:
        for name, item in value.items():
            self._add(inside, name, item, find_property(whole, name, self._root), scope)

    def _add_items(
        self, inside: _ElementParts, name: str, items: Any, whole: PartSchemas, scope: Scope
    ) -> None:
        """Add items, named by their schema, else by the member that contains them."""
        inner = find_items(whole, self._root)
        own_name = _merge_xml(inner).get("name", name)
        inside.content += [self.write_element(own_name, item, inner, scope) for item in items]

    def _add(
        self, inside: _ElementParts, name: str, value: Any, whole: PartSchemas, scope: Scope
    ) -> None:
        xml = _merge_xml(whole)
        kind = _determine_node_type(xml, value)
        own_name: str = xml.get("name", name)
        if kind == "element":
            inside.content.append(self.write_element(own_name, value, whole, scope))
        elif kind == "none" and isinstance(value, (list, tuple)):
            # The name in the array's `xml` is that of a wrapper, which does not exist here.
            self._add_items(inside, name, value, whole, scope)
        elif kind == "none" and isinstance(value, dict):
            self._add_members(inside, value, whole, scope)
        elif isinstance(value, (dict, list, tuple)):
            raise UnsendableError(f"has an object or array in `{name}`, an XML {kind} node")
        elif kind == "attribute":
            if value is not None:
                inside.attributes += [pair for pair in _declare_namespace(xml) if pair not in scope]
                pair = (_qualify(own_name, xml), _escape_attribute(format_primitive(value)))
                inside.attributes.append(pair)
        elif kind == "cdata":
            split = _check_characters(format_primitive(value)).replace("]]>", "]]]]><![CDATA[>")
            inside.content.append(f"<![CDATA[{split}]]>")
        else:
            inside.content.append(_escape_text(format_primitive(value)))


def _merge_xml(whole: PartSchemas) -> JsonObject:
    """Merge the `xml` keywords of a part; the most direct schema wins."""
    merged: JsonObject = {}
    for branch in reversed(whole):
        if isinstance(branch.get("xml"), dict):
            merged |= branch["xml"]
    return merged


def _determine_node_type(xml: JsonObject, value: Any) -> str:
    """Return `nodeType` of 3.2, or its equivalent of `attribute` and `wrapped`."""
    if isinstance(xml.get("nodeType"), str):
        return str(xml["nodeType"])
    if xml.get("attribute") is True:
        return "attribute"
    if isinstance(value, (list, tuple)) and xml.get("wrapped") is not True:
        return "none"
    return "element"


def _qualify(name: str, xml: JsonObject) -> str:
    prefix = xml.get("prefix")
    qualified = f"{prefix}:{name}" if isinstance(prefix, str) and prefix else name
    if not _NAME.match(qualified):
        raise UnsendableError(f"has a member `{name[:60]}`, which is not a valid XML name")
    return qualified


def _declare_namespace(xml: JsonObject) -> Iterator[tuple[str, str]]:
    namespace, prefix = xml.get("namespace"), xml.get("prefix")
    if isinstance(namespace, str) and namespace:
        yield f"xmlns:{prefix}" if prefix else "xmlns", _escape_attribute(namespace)


def _check_characters(text: str) -> str:
    if _FORBIDDEN.search(text):
        raise UnsendableError("has a control character, which XML does not allow")
    return text


def _escape_text(text: str) -> str:
    escaped = (
        _check_characters(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    )
    return escaped.replace("\r", "&#13;")  # a parser would convert it to a line feed


def _escape_attribute(text: str) -> str:
    escaped = _escape_text(text).replace('"', "&quot;")
    return escaped.replace("\t", "&#9;").replace("\n", "&#10;")
