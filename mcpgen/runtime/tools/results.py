"""Conversion of a handler's value, or of an exception, to a `ToolResult`."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpgen.absent import ABSENT, Absent
from mcpgen.contract.limits import CHARACTERS_PER_TOKEN, DEFAULT_LIMITS
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
from mcpgen.runtime.tools.projection import shorten
from mcpgen.runtime.upstream.errors import UpstreamStatusError
from mcpgen.runtime.upstream.http.messages import HeaderFields

if TYPE_CHECKING:
    from mcpgen.jsonschema.validation import SchemaValidator


STATUS_KEY = "mcpgen/status"
RETRY_AFTER_KEY = "mcpgen/retryAfterMs"
REFERENCE_KEY = "mcpgen/reference"
TRUNCATED_KEY = "mcpgen/truncated"
DEPARTURES_KEY = "mcpgen/schemaDepartures"


@dataclass(frozen=True, slots=True)
class ResultShape:
    """Result shape from a tool's contract.

    `uri` names bytes that have no name of their own. `output` validates against the listed output
    schema; None if the tool lists none.
    """

    operation: str
    result_key: str = ""
    uri: str = ""
    output: SchemaValidator | None = None
    max_characters: int = DEFAULT_LIMITS.max_result_tokens * CHARACTERS_PER_TOKEN


def make_result(value: Any, shape: ResultShape, *, is_cut_off: bool = False) -> ToolResult:
    """Convert a handler's value to a result.

    A `ToolResult` and a content block are returned unchanged. JSON becomes structured content,
    under the result key if the contract has one, with the same JSON as text; text, images, audio
    and other bytes become content of their kind. `is_cut_off` states that the response was not
    read to its end.
    """
    if isinstance(value, str) and not shape.result_key:
        return _make_text_result(value, shape, is_cut_off=is_cut_off)
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, Content):
        return ToolResult((value,), _make_empty_content(shape))
    if isinstance(value, Media):
        notes = (Text(value.note),) if value.note else ()
        return ToolResult(
            (_make_media_content(value, shape.uri), *notes), _make_empty_content(shape)
        )
    if value is None and not shape.result_key:
        done = Text(f"Done: `{shape.operation}` gave no content.")
        return ToolResult((done,), _make_empty_content(shape))
    return _make_json_result(value, shape, is_cut_off=is_cut_off)


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


def _make_text_result(text: str, shape: ResultShape, *, is_cut_off: bool) -> ToolResult:
    most = shape.max_characters
    if len(text) <= most and not is_cut_off:
        return ToolResult((Text(text),), _make_empty_content(shape))
    note = _CUT_OFF_NOTE
    if len(text) > most:
        note = f"Cut: this is {most:,} of {len(text):,} characters."
    content = (Text(text[:most]), Text(note))
    return ToolResult(content, _make_empty_content(shape), meta={TRUNCATED_KEY: True})


_CUT_OFF_NOTE = "Cut: the response went on, and this is its beginning."


def _make_json_result(value: Any, shape: ResultShape, *, is_cut_off: bool) -> ToolResult:
    short = shorten(value, shape.max_characters)
    meta: JsonObject = {}
    notes: list[str] = []
    if is_cut_off:
        meta[TRUNCATED_KEY] = True
        notes.append(_CUT_OFF_NOTE)
    if short.notes:
        meta[TRUNCATED_KEY] = True
        notes.append(
            f"Cut, since the whole is too long: {'; '.join(short.notes)}. "
            "A filter, fewer fields or a smaller page shows the rest."
        )
    if isinstance(short.value, dict) and not shape.result_key:
        structured: JsonObject = short.value
    else:
        structured = {shape.result_key or "result": short.value}
    if shape.output is not None:
        structured, departures = fit_to_schema(structured, shape.output)
        if departures:
            meta[DEPARTURES_KEY] = list(departures)
            what = "has null in these places" if structured else "is empty"
            notes.append(
                f"The response departs from its schema, and the structured content {what}: "
                f"{'; '.join(departures)}."
            )
    text = short.value if isinstance(short.value, str) else short.text
    return ToolResult((Text(text), *map(Text, notes)), structured, meta=meta)


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
        meta[REFERENCE_KEY] = reference = secrets.token_hex(4)
        log("error", f"tool `{tool}` failed, reference {reference}: {describe_error(error)}")
        text = (
            "Internal error in this server: the same call will likely fail again. "
            f"See the server log, reference {reference}."
        )
    return ToolResult((Text(text),), is_error=True, meta=meta)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
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
        wanted = name.lower()
        return next((text for key, text in self.headers if key.lower() == wanted), ABSENT)
