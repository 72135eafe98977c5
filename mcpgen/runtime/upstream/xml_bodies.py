"""XML bodies, shaped by the `xml` keywords of their schemas (OpenAPI 3.2, "XML Object")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.body_schemas import (
    Described,
    described,
    items_of,
    property_of,
)
from mcpgen.runtime.upstream.parameters import UnsendableError, primitive_text

_NAME = re.compile(r"[^\W\d][\w.\-]*(?::[^\W\d][\w.\-]*)?\Z")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2
_NIL = (("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"), ("xsi:nil", "true"))


def xml_document(value: Any, root: str, schema: JsonObject, charset: str) -> str:
    """Write a value as the document that its schema describes; `root` is its outermost element.

    Raises:
        UnsendableError: it has a character or a name that XML cannot have, or an object or array
            where an attribute or text belongs.
    """
    element = _Writer(schema).element(root, value, described(schema, schema), ())
    return f'<?xml version="1.0" encoding="{charset.upper()}"?>{element}'


@dataclass(slots=True)
class _Inside:
    """What stands in an element: in its tag, and between its tags."""

    attributes: list[tuple[str, str]] = field(default_factory=list)
    content: list[str] = field(default_factory=list)


Scope = tuple[tuple[str, str], ...]  # the namespace declarations that hold


class _Writer:
    def __init__(self, root: JsonObject) -> None:
        self._root = root

    def element(self, name: str, value: Any, whole: Described, scope: Scope) -> str:
        xml = _xml(whole)
        tag = _qualified(name, xml)
        inside = _Inside()
        declared = tuple(_declaration(xml))
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
            inside.content.append(_text(primitive_text(value)))
        attributes = "".join(f' {key}="{text}"' for key, text in inside.attributes)
        content = "".join(inside.content)
        return f"<{tag}{attributes}>{content}</{tag}>" if content else f"<{tag}{attributes}/>"

    def _add_members(
        self, inside: _Inside, value: JsonObject, whole: Described, scope: Scope
    ) -> None:
        for name, item in value.items():
            self._add(inside, name, item, property_of(whole, name, self._root), scope)

    def _add_items(
        self, inside: _Inside, name: str, items: Any, whole: Described, scope: Scope
    ) -> None:
        """Items are called by their own schema, else like what holds them."""
        inner = items_of(whole, self._root)
        own_name = _xml(inner).get("name", name)
        inside.content += [self.element(own_name, item, inner, scope) for item in items]

    def _add(self, inside: _Inside, name: str, value: Any, whole: Described, scope: Scope) -> None:
        xml = _xml(whole)
        kind = _node_type(xml, value)
        own_name: str = xml.get("name", name)
        if kind == "element":
            inside.content.append(self.element(own_name, value, whole, scope))
        elif kind == "none" and isinstance(value, (list, tuple)):
            # The name beside `type: array` is that of a wrapper, which there is none of here.
            self._add_items(inside, name, value, whole, scope)
        elif kind == "none" and isinstance(value, dict):
            self._add_members(inside, value, whole, scope)
        elif isinstance(value, (dict, list, tuple)):
            raise UnsendableError(f"has more in `{name}` than an XML {kind} node can hold")
        elif kind == "attribute":
            if value is not None:
                inside.attributes += [pair for pair in _declaration(xml) if pair not in scope]
                pair = (_qualified(own_name, xml), _attribute(primitive_text(value)))
                inside.attributes.append(pair)
        elif kind == "cdata":
            split = _checked(primitive_text(value)).replace("]]>", "]]]]><![CDATA[>")
            inside.content.append(f"<![CDATA[{split}]]>")
        else:
            inside.content.append(_text(primitive_text(value)))


def _xml(whole: Described) -> JsonObject:
    """The `xml` keywords of a part; what stands nearer wins."""
    merged: JsonObject = {}
    for branch in reversed(whole):
        if isinstance(branch.get("xml"), dict):
            merged |= branch["xml"]
    return merged


def _node_type(xml: JsonObject, value: Any) -> str:
    """`nodeType` of 3.2, or what `attribute` and `wrapped` said before it."""
    if isinstance(xml.get("nodeType"), str):
        return str(xml["nodeType"])
    if xml.get("attribute") is True:
        return "attribute"
    if isinstance(value, (list, tuple)) and xml.get("wrapped") is not True:
        return "none"
    return "element"


def _qualified(name: str, xml: JsonObject) -> str:
    prefix = xml.get("prefix")
    qualified = f"{prefix}:{name}" if isinstance(prefix, str) and prefix else name
    if not _NAME.match(qualified):
        raise UnsendableError(f"has a member `{name[:60]}`, which cannot be a name in XML")
    return qualified


def _declaration(xml: JsonObject) -> Iterator[tuple[str, str]]:
    namespace, prefix = xml.get("namespace"), xml.get("prefix")
    if isinstance(namespace, str) and namespace:
        yield f"xmlns:{prefix}" if prefix else "xmlns", _attribute(namespace)


def _checked(text: str) -> str:
    if _FORBIDDEN.search(text):
        raise UnsendableError("has a control character, which XML cannot hold")
    return text


def _text(text: str) -> str:
    escaped = _checked(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\r", "&#13;")  # a parser would make a line feed of it


def _attribute(text: str) -> str:
    escaped = _text(text).replace('"', "&quot;")
    return escaped.replace("\t", "&#9;").replace("\n", "&#10;")
