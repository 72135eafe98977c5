"""What a call comes to: a handler's value, or an exception, as a `ToolResult`."""

from __future__ import annotations

import logging
import secrets
from typing import Any

import msgspec

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
from mcpgen.runtime.upstream.errors import UpstreamStatusError

_log = logging.getLogger(__name__)

STATUS_KEY = "mcpgen/status"
RETRY_AFTER_KEY = "mcpgen/retryAfterMs"
REFERENCE_KEY = "mcpgen/reference"


def result_of(
    value: Any, *, operation: str, result_key: str, uri: str, promises_object: bool = False
) -> ToolResult:
    """The result that carries a handler's value.

    A `ToolResult` stands as it is. JSON becomes structured content, under `result_key` when the
    contract has one, with text that says the same; text, pictures, sounds and other bytes become
    content of their kind. `uri` names what has no name of its own. Where the tool
    `promises_object`, an empty answer is an empty object, since clients insist on one.
    """
    if isinstance(value, ToolResult):
        return value
    if value is None and not result_key:
        empty: JsonObject | None = {} if promises_object else None
        return ToolResult((Text(f"Done: `{operation}` gave no content."),), empty)
    if isinstance(value, Media):
        return ToolResult((_media_content(value, uri),))
    if isinstance(value, str) and not result_key:
        return ToolResult((Text(value),))
    if isinstance(value, dict) and not result_key:
        structured: JsonObject = value
    else:
        structured = {result_key or "result": value}
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return ToolResult((Text(text),), structured)


def _media_content(media: Media, uri: str) -> Content:
    if media.media_type.startswith("image/") and media.media_type != "image/svg+xml":
        return Image(media.data, media.media_type)
    if media.media_type.startswith("audio/"):
        return Audio(media.data, media.media_type)
    return EmbeddedResource(uri, media.media_type, blob=media.data)


def result_of_exception(error: Exception, *, tool: str) -> ToolResult:
    """The result that tells a model why a call failed and what it can do.

    A fault of this server is logged under a reference, which is all that the client is told.
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
        _log.error("tool `%s` failed, reference %s", tool, reference, exc_info=error)
        text = (
            "Something inside this server failed, and the same call will likely fail again. "
            f"Its log tells more under the reference {reference}."
        )
    return ToolResult((Text(text),), is_error=True, meta=meta)
