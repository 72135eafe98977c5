"""Compare two requests for the same arguments by meaning instead of spelling.

Path segments, query and form pairs are compared decoded (so `+` and `%20` are one), headers and
cookies by name, JSON parsed, the parts of multipart bodies by name. Numbers are compared as such.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email import message_from_bytes
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from xml.etree import ElementTree

Call = dict[str, Any]
Request = dict[str, Any]
ByName = dict[str, list[bytes]]

_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?\Z")


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between a judge's request and ours; `kind` classifies it."""

    kind: str
    ours: str
    theirs: str


def differences(call: Call, theirs: Request) -> Iterator[Difference]:
    """Yield the differences between a judge's request and ours."""
    before, _, fragment = theirs["url"].partition("#")  # which is never sent
    if "?" in fragment:
        yield Difference("a query in a fragment", call["ours"].get("url", ""), theirs["url"])
        theirs = {**theirs, "url": before + "?" + fragment.partition("?")[2]}
    yield from _differences(call, theirs)


def _differences(call: Call, theirs: Request) -> Iterator[Difference]:
    ours = call["ours"]
    if "refused" in ours:
        yield Difference("we refuse to send it", ours["refused"], theirs["url"])
        return
    if ours["method"].upper() != theirs["method"].upper():
        yield Difference("method", ours["method"], theirs["method"])
    one, other = (urlsplit(request["url"]) for request in (ours, theirs))
    yield from _path_differences(call, one.path, other.path)
    yield from _pair_differences(call, "query", _pairs(one.query), _pairs(other.query))
    yield from _header_differences(call, ours, theirs)
    cookies = (_cookies(request) for request in (ours, theirs))
    yield from _pair_differences(call, "cookie", *cookies)
    yield from _body_differences(call, ours, theirs)


def _path_differences(call: Call, ours: str, theirs: str) -> Iterator[Difference]:
    template = urlsplit(call["operation"].partition(" ")[2]).path.split("/")
    one, other = ours.split("/"), theirs.split("/")
    if len(one) != len(other):
        yield Difference("path: the number of segments", ours, theirs)
        return
    for number, (mine, judged) in enumerate(zip(one, other, strict=True)):
        if not _is_same(unquote_to_bytes(mine), unquote_to_bytes(judged)):
            names = re.findall(r"\{([^{}]*)\}", template[number] if len(template) > number else "")
            yield Difference(_kind(call, "path", names), mine, judged)


def _header_differences(call: Call, ours: Request, theirs: Request) -> Iterator[Difference]:
    mine, judged = _headers(ours), _headers(theirs)
    for name in call["values"].get("header", {}):
        if not _is_same(mine.get(name.lower(), b"-"), judged.get(name.lower(), b"-")):
            shown = (request.get(name.lower(), b"(absent)").decode() for request in (mine, judged))
            yield Difference(_kind(call, "header", [name]), *shown)


def _pair_differences(call: Call, place: str, ours: ByName, theirs: ByName) -> Iterator[Difference]:
    for name in sorted(ours.keys() | theirs.keys()):
        mine, judged = ours.get(name, []), theirs.get(name, [])
        if len(mine) != len(judged) or not all(map(_is_same, mine, judged)):
            found = [
                given
                for given in call["values"].get(place, {})
                if name == given or name.startswith(f"{given}[")
            ]
            shown = (f"{name}={values}" for values in (mine, judged))
            yield Difference(_kind(call, place, found), *shown)


def _body_differences(call: Call, ours: Request, theirs: Request) -> Iterator[Difference]:
    if "body" not in call:
        if ours["body"] or theirs["body"]:
            yield Difference("a body where none is given", str(ours["body"]), str(theirs["body"]))
        return
    kind = call["content_type"].partition(";")[0].strip().lower()
    wanted = (_headers(request).get("content-type", b"").decode() for request in (ours, theirs))
    types = [text.partition(";")[0].strip().lower() for text in wanted]
    if types[0] != types[1]:
        yield Difference(f"content type of {_family(kind)}", *types)
        return
    one = base64.b64decode(ours["body"] or "")
    other = base64.b64decode(theirs["body"] or "")
    if kind == "application/x-www-form-urlencoded":
        mine, judged = _pairs(one.decode()), _pairs(other.decode())
    elif kind.startswith("multipart/"):
        mine = _parts(one, _headers(ours)["content-type"])
        judged = (
            _grouped((name, base64.b64decode(text)) for name, text in theirs["parts"])
            if "parts" in theirs
            else _parts(other, _headers(theirs)["content-type"])
        )
    else:
        told = _family(kind) if not kind.endswith("xml") else _unlike_xml(one, other)
        if told and not _is_same(one, other):
            yield Difference(f"body of {told}", _shown(one), _shown(other))
        return
    yield from _field_differences(call, _family(kind), mine, judged)


def _field_differences(
    call: Call, family: str, ours: ByName, theirs: ByName
) -> Iterator[Difference]:
    body = call["body"] if isinstance(call["body"], dict) else {}
    encoding = call["media_type"].get("encoding", {})
    for name in sorted(ours.keys() | theirs.keys()):
        mine, judged = ours.get(name, []), theirs.get(name, [])
        if len(mine) != len(judged) or not all(map(_is_same, mine, judged)):
            field = name if name in body else name.partition("[")[0]
            how = encoding.get(field, {})
            told = " ".join(f"{key}={value}" for key, value in sorted(how.items())) or "plain"
            shown = (f"{name}={[_shown(value) for value in values]}" for values in (mine, judged))
            shape = _shape(body[field]) if field in body else "object"
            yield Difference(f"{family}: {told} {shape}", *shown)


def _kind(call: Call, place: str, names: list[str]) -> str:
    """Return the location, style and shape of the first of these parameters that has a value."""
    values = call["values"].get(place, {})
    for parameter in call["parameters"]:
        if parameter["in"] == place and parameter["name"] in names and parameter["name"] in values:
            how = parameter.get("content_type") or parameter.get("style", "")
            exploded = " exploded" if parameter.get("explode") else ""
            return f"{place} {how}{exploded} {_shape(values[parameter['name']])}"
    return f"{place}: a name that is no parameter's"


def _shape(value: Any) -> str:
    if isinstance(value, list):
        return f"array of {_shape(value[0])}" if value else "empty array"
    if isinstance(value, dict):
        inner = {_shape(item).partition(" ")[0] for item in value.values()}
        return f"object of {'+'.join(sorted(inner))}" if value else "empty object"
    return {str: "text", bool: "boolean", type(None): "null"}.get(type(value), "number")


def _family(kind: str) -> str:
    if kind == "application/x-www-form-urlencoded":
        return "urlencoded"
    if kind.startswith("multipart/"):
        return "multipart"
    return "json" if kind.endswith("json") else kind


def _unlike_xml(one: bytes, other: bytes) -> str:
    """Return how two XML documents differ: in elements and their order, attributes or text."""
    try:
        ours, theirs = (_of_element(ElementTree.fromstring(text)) for text in (one, other))
    except ElementTree.ParseError:
        return "xml: one that is none"
    if ours[1:] != theirs[1:]:
        return "xml: what is in it"
    return "" if ours == theirs else "xml: the name of the root"


def _of_element(element: ElementTree.Element) -> tuple[Any, ...]:
    text = (element.text or "").strip()
    return (element.tag, dict(element.attrib), text, [_of_element(inner) for inner in element])


def _is_same(one: bytes, other: bytes) -> bool:
    """Return whether values are equal as bytes, numbers, JSON, or base64 that one side decoded."""
    if one == other:
        return True
    if _NUMBER.match(one) and _NUMBER.match(other):
        return float(one) == float(other)
    try:
        if json.loads(one) == json.loads(other):
            return True
    except ValueError:
        pass
    try:
        return base64.b64decode(other, validate=True) == one
    except (binascii.Error, ValueError):
        return False


def _pairs(text: str) -> ByName:
    pairs = (pair.partition("=") for pair in text.split("&") if pair)
    return _grouped((_unquoted(name).decode("utf-8", "replace"), _unquoted(value))
                    for name, _, value in pairs)  # fmt: skip


def _unquoted(text: str) -> bytes:
    return unquote_to_bytes(text.replace("+", " "))


def _cookies(request: Request) -> ByName:
    text = _headers(request).get("cookie", b"").decode()
    pairs = (pair.strip().partition("=") for pair in text.split(";") if pair.strip())
    return _grouped((name, unquote_to_bytes(value)) for name, _, value in pairs)


def _headers(request: Request) -> dict[str, bytes]:
    """Return the header fields; values that are not strings in JavaScript, as JSON."""
    return {
        name.lower(): (value if isinstance(value, str) else json.dumps(value)).encode()
        for name, value in request["headers"]
    }


def _parts(body: bytes, content_type: bytes) -> ByName:
    message = message_from_bytes(b"Content-Type: " + content_type + b"\r\n\r\n" + body)
    return _grouped(
        (
            str(part.get_param("name", "", "content-disposition")),
            bytes(part.get_payload(decode=True) or b""),
        )
        for part in (message.get_payload() if message.is_multipart() else [])
    )


def _grouped(pairs: Iterable[tuple[str, bytes]]) -> ByName:
    found: ByName = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _shown(value: bytes) -> str:
    return value[:200].decode("utf-8", "replace")
