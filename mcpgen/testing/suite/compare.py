"""Comparison of requests and results with the expectations of a test case."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from typing import TypeAlias

from mcpgen.jsonschema.types import JsonValue
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.testing.mock.replies import is_stream, read_stream
from mcpgen.testing.mock.styles import Reading
from mcpgen.testing.mock.upstream import RecordedRequest
from mcpgen.testing.suite.cases import PLACES
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.media_types import essence_of, is_json

_SHOWN = 300


def compare_request(expected: JsonObject, sent: RecordedRequest) -> Iterator[str]:
    """Yield the differences between a request and the `request` of a case."""
    decoded = sent.decoded
    for place in PLACES:
        found = getattr(decoded, place)
        if place == "header" and decoded.key_header not in expected.get(place, {}):
            found = {name: it for name, it in found.items() if name != decoded.key_header}
        yield from _compare_place(place, expected.get(place, {}), found)
    yield from _compare_whole("querystring", expected, decoded.querystring, is_exact=False)
    content_type = decoded.content_type
    yield from _compare_whole("body", expected, decoded.body, is_exact=is_json(content_type))
    expected_type = expected.get("content_type")
    if expected_type is not None and essence_of(expected_type) != essence_of(content_type):
        yield f"content type: sent `{content_type}`, expected `{expected_type}`"
    if "security" in expected and sorted(expected["security"]) != sorted(sent.security):
        yield (
            f"credentials: sent those of {_format_schemes(sent.security)}, "
            f"expected {_format_schemes(expected['security'])}"
        )


def idempotency_key(sent: RecordedRequest) -> str:
    """Return the idempotency key of a request; "" if it has none."""
    reading = sent.decoded.header.get(sent.decoded.key_header)
    return "" if reading is None else str(reading.value)


def _compare_place(place: str, expected: JsonObject, sent: dict[str, Reading]) -> Iterator[str]:
    for name in sorted(expected.keys() | sent.keys()):
        shown = f"{place} parameter `{name}`"
        if name not in sent:
            yield f"{shown}: not sent, expected {_dump(expected[name])}"
        elif name not in expected:
            yield f"{shown}: sent {_dump(sent[name].value)}, expected not to be sent"
        elif not _is_among(expected[name], sent[name], is_exact=False):
            yield f"{shown}: sent {_dump(sent[name].value)}, expected {_dump(expected[name])}"


def _compare_whole(
    key: str, expected: JsonObject, sent: Reading | None, *, is_exact: bool
) -> Iterator[str]:
    shown = "query string" if key == "querystring" else key
    if key not in expected and sent is not None:
        yield f"{shown}: sent {_dump(sent.value)}, expected none"
    elif key in expected and sent is None:
        yield f"{shown}: none was sent, expected {_dump(expected[key])}"
    elif sent is not None and not _is_among(expected[key], sent, is_exact=is_exact):
        yield f"{shown}: sent {_dump(sent.value)}, expected {_dump(expected[key])}"


def _is_among(expected: JsonValue, reading: Reading, *, is_exact: bool) -> bool:
    return any(is_same(expected, value, is_exact=is_exact) for value in reading.values)


def is_same(expected: JsonValue, found: JsonValue, *, is_exact: bool = True) -> bool:
    """Return whether two JSON values are equal; `true` is not 1, and 1 is 1.0.

    If a value travelled as text (`is_exact` is false), two scalars with the same spelling are also
    equal: only the schema distinguishes 7 from "7" there, and not always.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(
            is_same(value, found[name], is_exact=is_exact) for name, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(
            is_same(one, other, is_exact=is_exact)
            for one, other in zip(expected, found, strict=True)
        )
    if isinstance(expected, bool) is isinstance(found, bool) and expected == found:
        return True
    return not is_exact and _has_same_spelling(expected, found)


def _has_same_spelling(expected: JsonValue, found: JsonValue) -> bool:
    if not isinstance(found, str):
        return isinstance(expected, str) and _has_same_spelling(found, expected)
    if isinstance(expected, dict | list):
        try:
            return is_same(expected, json.loads(found))
        except ValueError:
            return False
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        try:
            return float(found) == float(expected)
        except (OverflowError, ValueError):
            return False
    return not isinstance(expected, str) and json.dumps(expected) == found


def _format_schemes(schemes: JsonValue) -> str:
    return " and ".join(f"`{scheme}`" for scheme in schemes) or "no scheme"


def _dump(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# Results


def compare_result(
    response: HttpResponse, result: JsonObject, *, is_wrapped: bool
) -> Iterator[str]:
    """Yield the differences between a tool's result and the API's response.

    JSON must be the structured content, under "result" if it is not an object or the tool always
    wraps it; text and bytes must be unchanged in the content. A truncated result is not compared.
    """
    if result.get("_meta", {}).get("mcpgen/truncated") or not response.body:
        return
    kind = essence_of(response.header("Content-Type"))
    if is_json(kind):
        value = json.loads(response.body)
        if is_wrapped or not isinstance(value, dict):
            value = {"result": value}
        structured = result.get("structuredContent")
        if not is_same(value, structured):
            yield f"structured content: {_dump(structured)}, the API answered {_dump(value)}"
    elif is_stream(kind):
        items = {"result": read_stream(kind, response.body)}
        if not is_same(items, result.get("structuredContent")):
            yield f"structured content: not the items that the API answered: {_dump(items)}"
    elif response.body not in list(_list_contents(result)):
        yield f"content: not what the API answered: {response.body[:_SHOWN]!r}"


def _list_contents(result: JsonObject) -> Iterator[bytes]:
    for block in result.get("content", ()):
        resource = block.get("resource", {})
        for text in (block.get("text"), resource.get("text")):
            if text is not None:
                yield text.encode()
        for data in (block.get("data"), resource.get("blob")):
            if data is not None:
                try:
                    yield b64decode(data, validate=True)
                except Base64Error:
                    continue


def text_of(result: JsonObject) -> str:
    """Return all text of a result."""
    return "\n".join(
        block["text"] for block in result.get("content", ()) if block.get("type") == "text"
    )


def compare_text(expected: JsonObject, text: str) -> Iterator[str]:
    """Yield the differences between a text and `contains` and `not_contains` of a test case."""
    for part in expected.get("contains", ()):
        if part not in text:
            yield f"the text does not contain `{part}`: {text[:500]}"
    for part in expected.get("not_contains", ()):
        if part in text:
            yield f"the text contains `{part}`: {text[:500]}"


_Place: TypeAlias = "tuple[str | int, ...]"
_ITEMS = "[]"
_NEXT_CALLS = "next_calls"  # that the server adds to a cut result


def compare_projection(
    kept: JsonObject, response: HttpResponse, result: JsonObject
) -> Iterator[str]:
    """Yield the differences between a result and the part of a response that `kept` selects."""
    value = json.loads(response.body)
    structured = dict(result.get("structuredContent", {}))
    structured.pop(_NEXT_CALLS, None)
    found = dict(_list_leaves(structured if isinstance(value, dict) else structured.get("result")))
    size = len(json.dumps(structured, ensure_ascii=False, separators=(",", ":")).encode())
    if "skip" in kept and isinstance(value, list):
        value = value[kept["skip"] :]
    answered = dict(_list_leaves(value))
    expected = {place: leaf for place, leaf in answered.items() if _is_kept(place, kept)}
    for place in sorted(found.keys() - expected.keys(), key=repr):
        yield f"`{json_pointer(place)}` is in the result, expected to be removed"
    if "max_bytes" in kept and len(response.body) > kept["max_bytes"]:
        if size > kept["max_bytes"]:
            yield f"the result has {size} bytes, expected at most {kept['max_bytes']}"
        return
    for place, leaf in expected.items():
        if place not in found or found[place] != leaf:
            value = found.get(place)
            yield f"`{json_pointer(place)}` is {value!r} in the result, expected {leaf!r}"


def _list_leaves(value: JsonValue, place: _Place = ()) -> Iterator[tuple[_Place, JsonValue]]:
    """Yield every scalar of a value, with its path."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _list_leaves(member, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _list_leaves(item, (*place, index))
    else:
        yield place, value


def _is_kept(place: _Place, kept: JsonObject) -> bool:
    index = next((step for step in place[:2] if isinstance(step, int)), 0)
    if "max_items" in kept and index >= kept["max_items"]:
        return False
    node = kept.get("select", {})
    for step in place:
        if not node:
            return True
        node = node.get(_ITEMS if isinstance(step, int) else step)
        if node is None:
            return False
    return True
