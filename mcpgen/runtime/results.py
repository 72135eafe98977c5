"""What a call comes to: a handler's value, or an exception, as a `ToolResult`."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from mcpgen.runtime.log import describe_error
from mcpgen.runtime.media import Media
from mcpgen.runtime.shorten import MAX_CHARACTERS, shortened
from mcpgen.runtime.upstream.errors import UpstreamStatusError
from mcpgen.runtime.upstream.redaction import visible

if TYPE_CHECKING:
    from mcpgen.runtime.validation import SchemaValidator

_log = logging.getLogger(__name__)

STATUS_KEY = "mcpgen/status"
RETRY_AFTER_KEY = "mcpgen/retryAfterMs"
REFERENCE_KEY = "mcpgen/reference"
TRUNCATED_KEY = "mcpgen/truncated"
REMOVED_KEY = "mcpgen/invisibleCharactersRemoved"
DEPARTURES_KEY = "mcpgen/schemaDepartures"


@dataclass(frozen=True, slots=True)
class ResultShape:
    """What a tool's contract says of its result.

    `uri` names bytes that have no name of their own. `output` gives the validator of the listed
    output schema; None where the tool lists none.
    """

    operation: str
    result_key: str = ""
    uri: str = ""
    output: Callable[[], SchemaValidator] | None = None


def result_of(value: Any, shape: ResultShape, *, is_cut_off: bool = False) -> ToolResult:
    """The result that carries a handler's value.

    A `ToolResult` stands as it is, and so does a content block. JSON becomes structured content,
    under the result key where the contract has one, with text that says the same; text, pictures,
    sounds and other bytes become content of their kind. `is_cut_off` says that the response went
    on.
    """
    if isinstance(value, str) and not shape.result_key:
        return _text_result(value, shape, is_cut_off=is_cut_off)
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, Content):
        return ToolResult((value,), _nothing_structured(shape))
    if isinstance(value, Media):
        return ToolResult((_media_content(value, shape.uri),), _nothing_structured(shape))
    if value is None and not shape.result_key:
        done = Text(f"Done: `{shape.operation}` gave no content.")
        return ToolResult((done,), _nothing_structured(shape))
    return _json_result(value, shape, is_cut_off=is_cut_off)


def with_notes(result: ToolResult, notes: Iterable[str]) -> ToolResult:
    """A result with more to say to the model, after its content."""
    content = (*result.content, *map(Text, notes))
    return ToolResult(content, result.structured_content, result.is_error, result.meta)


def _nothing_structured(shape: ResultShape) -> JsonObject | None:
    """What stands for structured content that the response has not.

    Clients insist on some where a schema promises it, and no member of a listed one is required.
    """
    return None if shape.output is None else {}


def _media_content(media: Media, uri: str) -> Content:
    if media.media_type.startswith("image/") and media.media_type != "image/svg+xml":
        return Image(media.data, media.media_type)
    if media.media_type.startswith("audio/"):
        return Audio(media.data, media.media_type)
    return EmbeddedResource(uri, media.media_type, blob=media.data)


def _text_result(text: str, shape: ResultShape, *, is_cut_off: bool) -> ToolResult:
    shown, removed = visible(text)
    if not removed and not is_cut_off and len(shown) <= MAX_CHARACTERS:  # by far the most frequent
        return ToolResult((Text(shown),), _nothing_structured(shape))
    meta: JsonObject = {REMOVED_KEY: removed} if removed else {}
    content = [Text(shown[:MAX_CHARACTERS])]
    if len(shown) > MAX_CHARACTERS:
        meta[TRUNCATED_KEY] = True
        content.append(Text(f"Cut: this is {MAX_CHARACTERS:,} of {len(shown):,} characters."))
    elif is_cut_off:
        meta[TRUNCATED_KEY] = True
        content.append(Text(_WENT_ON))
    return ToolResult(tuple(content), _nothing_structured(shape), meta=meta)


_WENT_ON = "Cut: the response went on, and this is its beginning."


def _json_result(value: Any, shape: ResultShape, *, is_cut_off: bool) -> ToolResult:
    short = shortened(value)
    meta: JsonObject = {}
    notes: list[str] = []
    if is_cut_off:
        meta[TRUNCATED_KEY] = True
        notes.append(_WENT_ON)
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
        structured, departures = fitted(structured, shape.output())
        if departures:
            meta[DEPARTURES_KEY] = list(departures)
            notes.append(
                "The response departs from its schema, and the structured content has null in "
                f"these places: {'; '.join(departures)}."
            )
    text = short.value if isinstance(short.value, str) else short.text
    return ToolResult((Text(text), *map(Text, notes)), structured, meta=meta)


def fitted(
    structured: JsonObject, validator: SchemaValidator
) -> tuple[JsonObject, tuple[str, ...]]:
    """Structured content that fits its schema, and what had to give way for that.

    Clients refuse a result that breaks its schema, whole; so what breaks it becomes null, which
    every member of a listed output schema may be, and the text still has all of it.
    """
    if validator.is_valid(structured):
        return structured, ()
    departures = validator.problems(structured)
    copy = deepcopy(structured)
    for path in validator.places(structured):
        _put_null(copy, path)
    return copy if validator.is_valid(copy) else {}, departures


def _put_null(value: Any, path: list[str | int]) -> None:
    for step in path[:-1]:
        if value is None:
            return  # what holds this place gave way already
        value = value[step]
    if path and value is not None:
        value[path[-1]] = None


def result_of_exception(error: Exception, *, tool: str) -> ToolResult:
    """Return the result that tells a model why a call failed and what it can do.

    An error in this server is logged; the client gets only its reference.
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
        reference = secrets.token_hex(4)
        meta[REFERENCE_KEY] = reference
        described = describe_error(error)
        _log.error("tool `%s` failed, reference %s: %s", tool, reference, described, exc_info=error)
        text = (
            "Internal error in this server: the same call will likely fail again. "
            f"See the server log, reference {reference}."
        )
    return ToolResult((Text(text),), is_error=True, meta=meta)
