"""Texts about tools and calls for the view; texts from servers are escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from mcpgen.cli.output.calls import content_text, format_json, iterate_request_lines
from mcpgen.cli.output.visible import visible
from mcpgen.factory.explore.explorer import CallRecord, TroubleError
from mcpgen.factory.explore.form import EMPTY_TEXT, FormField
from mcpgen.factory.explore.tools import ExploredTool
from mcpgen.jsonschema.types import JsonValue
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.testing.mock.upstream import RecordedRequest

_MAX_DEFAULT: Final = 20
_MAX_SHOWN: Final = 200_000  # characters of one text


def show_lines(text: str) -> str:
    """Return a text of several lines, escaped and shortened to what a view can show at once."""
    shown = "\n".join(map(visible, text[:_MAX_SHOWN].split("\n")))
    rest = len(text) - _MAX_SHOWN
    return f"{shown}\n… and {format_count(rest, 'more character')}" if rest > 0 else shown


def describe_schema(tool: ExploredTool) -> str:
    """Return the input schema and the output schema of a tool."""
    parts = ["input schema", format_json(tool.definition.get("inputSchema"))]
    if "outputSchema" in tool.definition:
        parts += ["", "output schema", format_json(tool.definition["outputSchema"])]
    return show_lines("\n".join(parts))


def describe_title(tool: ExploredTool) -> str:
    """Return the name of a tool, and its title unless the description begins with it."""
    has_news = tool.title and not tool.description.startswith(tool.title)
    return visible(f"{tool.name}: {tool.title}" if has_news else tool.name)


def describe_effect(tool: ExploredTool) -> str:
    """Return the line below the name of a tool."""
    listed = "" if tool.is_listed else ", found through search tools only"
    return f"{tool.effect}, {format_count(tool.tokens, 'token')}{listed}"


def describe_type(field: FormField) -> str:
    """Return the description of a field's values, for its label."""
    default = (
        f", default {shorten(_format_line(field.default), _MAX_DEFAULT)}"
        if field.has_default
        else ""
    )
    return f"{visible(field.type)}{default}"


def describe_empty_field(field: FormField) -> str:
    """Return what an empty field shows."""
    if field.kind == "json":
        return "JSON"
    return f"omitted; {EMPTY_TEXT} is the empty text" if field.kind == "text" else "omitted"


def describe_call(record: CallRecord, place: str = "") -> str:
    """Return the result of a call: the outcome and its `place`, then the content or the reason."""
    duration = format_seconds(record.seconds)
    lines = [f"{visible(record.tool)}: {record.outcome} in {duration}{place}"]
    if record.message:
        lines += ["", show_lines(record.message)]
    if record.log:
        lines += ["", "log of the server", show_lines(record.log)]
    if record.outcome in ("stopped", "no answer", "cancelled"):
        lines += ["", "The next call starts the server again."]
    if record.result is not None:
        lines += _describe_result(record.result)
    return "\n".join(lines)


def describe_trouble(error: TroubleError) -> str:
    """Return why a server cannot be explored."""
    lines = ["The server cannot be used:", "", show_lines(str(error))]
    if error.log:
        lines += ["", "log of the server", show_lines(error.log)]
    return "\n".join([*lines, "", "Ctrl-R starts it again."])


def describe_requests(record: CallRecord, *, is_mocked: bool) -> str:
    """Return the requests to the mock of the API, and its responses."""
    if not is_mocked:
        return "Requests are shown only if the API is mocked."
    if not record.requests:
        return "The server sent no request."
    return "\n\n".join("\n".join(_describe_exchange(it)) for it in record.requests)


def shorten(text: str, length: int) -> str:
    """Return at most `length` characters of a text."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def format_seconds(seconds: float) -> str:
    """Format a duration: "12 ms", "1.2 s"."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _describe_result(result: dict[str, JsonValue]) -> Iterator[str]:
    blocks = result.get("content")
    texts = [
        content_text(it) if isinstance(it, dict) else format_json(it)
        for it in (blocks if isinstance(blocks, list) else [])
    ]
    if "structuredContent" in result:
        structured = format_json(result["structuredContent"])
        yield from ("", "structured content", show_lines(structured))
        if texts == [structured]:
            yield from ("", "The text is the same JSON.")
            return
    for text in texts:
        yield from ("", "text", show_lines(text))
    if not texts and "structuredContent" not in result:
        yield from ("", "result", show_lines(format_json(result)))


def _describe_exchange(request: RecordedRequest) -> Iterator[str]:
    yield from iterate_request_lines(request)
    for problem in request.problems:
        yield f"! {visible(problem)}"
    yield ""
    yield f"< {request.response.status}"
    for name, value in request.response.headers:
        yield f"< {visible(name)}: {visible(value)}"
    body = request.response.body
    if body:
        yield show_lines(_lay_out(body))


def _lay_out(body: bytes) -> str:
    try:
        return format_json(json.loads(body))
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def _format_line(value: JsonValue) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
