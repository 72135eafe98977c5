"""Texts about a tool call: its result, and the requests that reached the mock of the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcpgen.cli.output.visible import visible
from mcpgen.jsonschema.types import JsonObject, JsonValue

if TYPE_CHECKING:
    from mcpgen.testing.mock.upstream import RecordedRequest


def content_text(content: JsonObject) -> str:
    """Return a content block as text, JSON in it laid out; other content is named instead."""
    match content:
        case {"type": "text", "text": str(text)}:
            try:
                return format_json(json.loads(text))
            except (ValueError, RecursionError):
                return text
        case {"type": "resource_link", "uri": uri} | {"type": "resource", "resource": {"uri": uri}}:
            return f"[resource {uri}]"
    return f"[{content.get('type')} {content.get('mimeType', '')}]"


def format_json(value: JsonValue) -> str:
    """Return a JSON value with indentation."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def iterate_request_lines(request: RecordedRequest) -> Iterator[str]:
    """Yield the lines of a request: method and URL, headers, body."""
    yield f"> {visible(str(request))}"
    for name, value in request.headers:
        yield f"> {visible(name)}: {visible(value)}"
    if request.body:
        yield f"> {visible(request.body.decode('utf-8', 'replace'))}"
