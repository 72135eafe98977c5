"""Conversion of a handler's value, or of an exception, to a `ToolResult`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.absent import ABSENT, Absent
from mcpgen.runtime.content import (
    Audio,
    Content,
    EmbeddedResource,
    Image,
    JsonObject,
    Text,
    ToolResult,
)
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.media import Media
from mcpgen.runtime.process.log import describe_error, log
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.continuation import Rest, describe_calls
from mcpgen.runtime.tools.projection import (
    Cut,
    Shortened,
    merge_cuts,
    shorten,
    shorten_text,
)
from mcpgen.runtime.tools.result_shape import ResultShape
from mcpgen.runtime.upstream.errors import UpstreamStatusError
from mcpgen.runtime.upstream.http.messages import HeaderFields

if TYPE_CHECKING:
    from mcpgen.jsonschema.validation import SchemaValidator
    from mcpgen.runtime.stored_results.prepared import PreparedResult


STATUS_KEY = "mcpgen/status"
RETRY_AFTER_KEY = "mcpgen/retryAfterMs"
REFERENCE_KEY = "mcpgen/reference"
TRUNCATED_KEY = "mcpgen/truncated"
DEPARTURES_KEY = "mcpgen/schemaDepartures"
NEXT_CALLS_KEY = "mcpgen/nextCalls"
_NEXT_CALLS: Final = "next_calls"
"""The member of structured content with the calls that return what was cut."""


def make_result(
    value: Any,
    shape: ResultShape,
    rest: Rest | None = None,
    cuts: Sequence[Cut] = (),
    is_cut_off: bool = False,
    prepared: PreparedResult | None = None,
) -> ToolResult:
    """Convert a handler's value to a result.

    A `ToolResult` and a content block are returned unchanged. JSON becomes structured content,
    under the result key if the contract has one, with the same JSON as text; text, images, audio
    and other bytes become content of their kind. What exceeds the limit is cut: `rest` finds the
    calls that return it, also where the value was cut before (`cuts`). `is_cut_off` states that
    the response was not read to its end. `prepared` is the value for the store, from which the rest
    can be read.
    """
    is_text = isinstance(value, str) and not shape.result_key
    if not is_text:
        result = _make_whole_result(value, shape, prepared)
        if result is not None:
            return result
    short = (shorten_text if is_text else shorten)(value, shape.max_bytes, has_notes=True)
    cuts = merge_cuts(cuts, short.cuts, short.value) if cuts else short.cuts
    if cuts or is_cut_off or (rest is not None and rest.is_part()):
        return _make_part(short, cuts, rest, shape, is_cut_off=is_cut_off, prepared=prepared)
    if is_text:
        return ToolResult((Text(value),), _make_empty_content(shape))
    return _make_json_result(value, short.text, shape, [], {})


def _make_whole_result(
    value: Any, shape: ResultShape, prepared: PreparedResult | None
) -> ToolResult | None:
    """Convert a value that is never cut; return None for any other value."""
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, Content):
        return ToolResult((value,), _make_empty_content(shape))
    if isinstance(value, Media):
        if prepared is not None:
            return _make_link(value, prepared, shape)
        described = (Text(value.note),) if value.note else ()
        content = (_make_media_content(value, shape.uri), *described)
        return ToolResult(content, _make_empty_content(shape))
    if value is None and not shape.result_key:
        done = Text(f"Done: `{shape.operation}` gave no content.")
        return ToolResult((done,), _make_empty_content(shape))
    return None


def _make_part(
    short: Shortened,
    cuts: Sequence[Cut],
    rest: Rest | None,
    shape: ResultShape,
    *,
    is_cut_off: bool,
    prepared: PreparedResult | None,
) -> ToolResult:
    """Return a result that is not the whole one, with the calls that return what it lacks."""
    meta: JsonObject = {TRUNCATED_KEY: True} if cuts or is_cut_off else {}
    notes = [_CUT_OFF_NOTE] if is_cut_off else []
    calls: list[JsonObject] = []
    value, text = short.value, short.text
    if rest is None:
        notes += [f"Cut: {cut.describe()}." for cut in cuts]
    else:
        if prepared is None:
            following = [*rest.list_calls(cuts)]
        else:
            following = [*prepared.list_calls(cuts), *rest.list_page_calls(is_cut=True)]
        notes += describe_calls(following, rest.arguments)
        calls = [item.call for item in following if item.call is not None]
        if len(rest.place) > 1:
            value = rest.wrap(value)
            text = encode_json(value).decode()
    if calls:
        meta[NEXT_CALLS_KEY] = calls
    if prepared is not None and cuts:
        notes.append(prepared.describe())
    if isinstance(value, str) and not shape.result_key:
        content = tuple(map(Text, (value, *notes)))
        result = ToolResult(content, _make_empty_content(shape), meta=meta)
    else:
        result = _make_json_result(value, text, shape, notes, meta)
        if cuts and calls:
            result = _add_calls(result, value, calls, shape)
    if prepared is None or not cuts:  # nothing to read
        return result
    return replace(result, content=(*result.content, prepared.link))


def _make_link(media: Media, prepared: PreparedResult, shape: ResultShape) -> ToolResult:
    """Return a result without the bytes that are stored."""
    notice = f"`{shape.operation}` returned {media.media_type}, which is too long to be shown."
    notes = map(Text, filter(None, (notice, media.note, prepared.describe())))
    meta = {TRUNCATED_KEY: True}
    return ToolResult((*notes, prepared.link), _make_empty_content(shape), meta=meta)


def add_notes(result: ToolResult, notes: Iterable[str]) -> ToolResult:
    """Add notes for the model after the content of a result."""
    content = (*result.content, *map(Text, notes))
    return ToolResult(content, result.structured_content, result.is_error, result.meta)


def _make_empty_content(shape: ResultShape) -> JsonObject | None:
    """Return {} if the tool lists an output schema: clients require structured content then."""
    return None if shape.output is None else {}  # no member of a listed schema is required


def _make_media_content(media: Media, uri: str) -> Content:
    if media.media_type.startswith("image/") and media.media_type != "image/svg+xml":
        return Image(media.data, media.media_type)
    if media.media_type.startswith("audio/"):
        return Audio(media.data, media.media_type)
    return EmbeddedResource(uri, media.media_type, blob=media.data)


_CUT_OFF_NOTE = "Cut: the response went on, and this is its beginning."


def _make_json_result(
    value: Any, text: str, shape: ResultShape, notes: list[str], meta: JsonObject
) -> ToolResult:
    if isinstance(value, dict) and not shape.result_key:
        structured: JsonObject = value
    else:
        structured = {shape.result_key or "result": value}
    if shape.output is not None:
        structured, departures = fit_to_schema(structured, shape.output)
        if departures:
            meta[DEPARTURES_KEY] = list(departures)
            what = "has null in these places" if structured else "is empty"
            notes.append(
                f"The response departs from its schema, and the structured content {what}: "
                f"{'; '.join(departures)}."
            )
    shown = value if isinstance(value, str) else text
    return ToolResult((Text(shown), *map(Text, notes)), structured, meta=meta)


def _add_calls(
    result: ToolResult, value: Any, calls: list[JsonObject], shape: ResultShape
) -> ToolResult:
    """Add the calls that return the rest to structured content, and to the text that repeats it.

    They are not added where the output schema has no room for them: in a map.
    """
    structured = {**(result.structured_content or {}), _NEXT_CALLS: calls}
    is_taken = _NEXT_CALLS in (result.structured_content or {})
    if is_taken or (shape.output is not None and not shape.output.is_valid(structured)):
        return result
    is_wrapped = bool(shape.result_key) or not isinstance(value, dict)
    repeated = {shape.result_key or "result": value} if is_wrapped else value
    text = Text(encode_json({**repeated, _NEXT_CALLS: calls}).decode())
    return replace(result, content=(text, *result.content[1:]), structured_content=structured)


def fit_to_schema(
    structured: JsonObject, validator: SchemaValidator
) -> tuple[JsonObject, tuple[str, ...]]:
    """Replace invalid parts of structured content with null; return it and the violations.

    Clients reject a result that violates its schema as a whole. Every member of a listed output
    schema may be null, and the text still has all values. The content is empty if there are too
    many violations to locate.
    """
    if validator.is_valid(structured):
        return structured, ()
    departures = validator.problems(structured)
    places = validator.places(structured)
    if places is None:
        return {}, departures
    copy = deepcopy(structured)
    for path in places:
        _put_null(copy, path)
    return copy if validator.is_valid(copy) else {}, departures


def _put_null(value: Any, path: list[str | int]) -> None:
    for step in path[:-1]:
        if value is None:
            return  # a parent was replaced before
        value = value[step]
    if path and value is not None:
        value[path[-1]] = None


def make_error_result(error: Exception, *, tool: str) -> ToolResult:
    """Return the result of a failed call: the reason, and what the model can do.

    An internal error is logged, and the result contains only its reference.
    """
    meta: JsonObject = {}
    if isinstance(error, UpstreamStatusError):
        meta[STATUS_KEY] = error.status
        if error.retry_after_ms is not None:
            meta[RETRY_AFTER_KEY] = error.retry_after_ms
    if isinstance(error, ToolError):
        text = str(error)
    elif isinstance(error, ConfigurationError):
        text = f"The server is not configured for this call: {error}."
    else:
        meta[REFERENCE_KEY] = reference = os.urandom(4).hex()
        log("error", f"tool `{tool}` failed, reference {reference}: {describe_error(error)}")
        text = (
            "Internal error in this server: the same call will likely fail again. "
            f"See the server log, reference {reference}."
        )
    return ToolResult((Text(text),), is_error=True, meta=meta)


class ToolOutcome(Struct, frozen=True):
    """Outcome of a tool that another tool called.

    `value` is the decoded response of the API, or the result of an override; `status` is None if
    no request was sent.
    """

    operation: str
    value: Any
    status: int | None = None
    headers: HeaderFields = ()

    def header(self, name: str) -> str | Absent:
        """Return a header of the response, case-insensitively."""
        lowered = name.lower()
        return next((text for key, text in self.headers if key.lower() == lowered), ABSENT)
