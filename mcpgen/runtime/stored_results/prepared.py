"""Preparation of a long result for the store: without secrets, and under a new handle."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from mcpgen.runtime.content import ResourceLink, ToolResult
from mcpgen.runtime.media import Media
from mcpgen.runtime.process.output_screen import mask_data
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.stored_results.parts import Reading
from mcpgen.runtime.stored_results.summary import summarize
from mcpgen.runtime.tools.continuation import NextCall
from mcpgen.runtime.tools.projection import Cut
from mcpgen.runtime.tools.result_shape import ResultShape

if TYPE_CHECKING:
    from mcpgen.runtime.upstream.response.redaction import Redactor

JSON: Final = "json"
TEXT: Final = "text"
BYTES: Final = "bytes"
_MAX_SHOWN_MEDIA: Final = 1024 * 1024  # bytes of images and audio, which clients show or play
_SHOWN_MEDIA: Final = ("image/", "audio/")
_SECRET_BYTES: Final = 18  # of a handle: 144 bits, 24 characters


class StorageTerms(Struct, frozen=True):
    """Common properties of all stored results of a server."""

    server: str
    reader: str  # the name of the tool that reads them
    max_bytes: int  # of one result
    minutes: float  # that a result is stored

    def make_uri(self, handle: str) -> str:
        """Return the URI of a stored result."""
        return f"{self.server}:/results/{handle}"


class PreparedResult(Struct, frozen=True):
    """A result that is about to be stored."""

    terms: StorageTerms
    handle: str
    tool: str
    kind: str  # JSON, TEXT or BYTES
    mime_type: str
    content: bytes
    value: Any  # JSON or a text, as it is stored; None for bytes

    def list_calls(self, cuts: Sequence[Cut]) -> Iterator[NextCall]:
        """Yield the call for each part that is cut of the value."""
        pointer = "" if self.kind == JSON else None
        return Reading(self.terms.reader, self.handle, pointer).list_calls(cuts, self.value)

    @property
    def link(self) -> ResourceLink:
        """The link to the resource from which a client can read the result."""
        return ResourceLink(
            self.terms.make_uri(self.handle),
            f"result of {self.tool}",
            mime_type=self.mime_type,
            size=len(self.content),
        )

    def describe(self) -> str:
        """Return what is stored, for how long, and how to read it."""
        what = f"{len(self.content):,} bytes of {self.mime_type}"
        ways = "by `offset`"
        if self.kind == JSON:
            what += f", {summarize(self.value)}"
            ways = "by `pointer`, `query` or `offset`"
        arguments = encode_json({"handle": self.handle}).decode()
        return (
            f"Stored for {self.terms.minutes:g} minutes: {what}. Read it {ways}:"
            f" `{self.terms.reader}` {arguments}"
        )


class Preparer:
    """Prepares the result of one call for the store, if it turns out to be too long."""

    __slots__ = ("_redactor", "_terms", "_tool", "prepared", "result")

    def __init__(self, terms: StorageTerms, tool: str, redactor: Redactor) -> None:
        self._terms = terms
        self._tool = tool
        self._redactor = redactor
        self.prepared: PreparedResult | None = None
        """The result to store; None if the result is complete, or cannot be stored."""
        self.result: ToolResult | None = None
        """The result for the client, once `prepared` is stored."""

    def prepare(
        self,
        value: Any,
        shape: ResultShape,
        make: Callable[[Any, PreparedResult], ToolResult],
    ) -> None:
        """Prepare a value, of which a part is not shown; `make` returns the result.

        The value is masked first, so that what is shown of it and what is stored are alike.
        """
        if isinstance(value, Media):
            if len(value.data) <= _find_most_bytes(value, shape):
                return
            prepared = self._prepare_media(value)
        else:
            is_text = isinstance(value, str) and not shape.result_key
            prepared = self._prepare_value(value, is_text=is_text)
        if len(prepared.content) > self._terms.max_bytes:
            return
        result = make(value if isinstance(value, Media) else prepared.value, prepared)
        if prepared.link in result.content:
            self.prepared, self.result = prepared, result

    def _prepare_media(self, media: Media) -> PreparedResult:
        data = self._redactor.mask_bytes(media.data)
        return self._make(BYTES, media.media_type, data, None)

    def _prepare_value(self, value: Any, *, is_text: bool) -> PreparedResult:
        """Prepare text or JSON; `is_text`: a string that is not sent as JSON."""
        redactor = self._redactor
        if is_text:
            value = redactor.mask(value)
            data = value.encode("utf-8", "surrogatepass")
            return self._make(TEXT, "text/plain", data, value)
        data = msgspec.json.encode(value)
        if redactor.has_secrets and redactor.finds_in(data):
            value = mask_data(value, redactor)
            data = msgspec.json.encode(value)
        return self._make(JSON, "application/json", data, value)

    def _make(self, kind: str, mime_type: str, content: bytes, value: Any) -> PreparedResult:
        handle = f"{self._tool}.{secrets.token_urlsafe(_SECRET_BYTES)}"
        return PreparedResult(self._terms, handle, self._tool, kind, mime_type, content, value)


def _find_most_bytes(media: Media, shape: ResultShape) -> int:
    """Return how many bytes of a media type are sent without being stored."""
    if media.media_type.startswith(_SHOWN_MEDIA) and media.media_type != "image/svg+xml":
        return _MAX_SHOWN_MEDIA
    return shape.max_bytes // 4 * 3  # as Base64
