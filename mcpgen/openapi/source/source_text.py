"""The text of a source file: its limits, decoding, lines, columns and excerpts."""

from __future__ import annotations

import codecs
import re
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.jsonschema.types import JsonValue

_USERINFO = re.compile(r"(?<=://)[^/\s\"'@]*:[^/\s\"'@]*(?=@)")
_BLOCK = 65_536  # characters
_MAX_EXCERPT = 200
_BEFORE = 40  # characters of a longer line before the location in its excerpt

# The longer marks first: UTF-32's little-endian one begins with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Without a mark, the zero bytes around the first ASCII character decide (RFC 4627, section 3).
_ZERO_PATTERNS = (
    (re.compile(rb"[^\0]\0\0\0", re.DOTALL), "utf-32-le"),
    (re.compile(rb"\0\0\0[^\0]", re.DOTALL), "utf-32-be"),
    (re.compile(rb"[^\0]\0", re.DOTALL), "utf-16-le"),
    (re.compile(rb"\0[^\0]", re.DOTALL), "utf-16-be"),
)


class SourceText:
    """A decoded file; offsets count characters from 0, lines and columns count from 1.

    `secrets` are masked in excerpts; `ReadFile.mask` sets them.
    """

    def __init__(self, shown_as: str, text: str, utf_8: bytes | None = None) -> None:
        """Keep a text; `utf_8` is the text in UTF-8, where the caller has it."""
        self.shown_as = shown_as
        self.text = text
        self.secrets: tuple[str, ...] = ()
        self._utf_8 = utf_8

    def encode(self) -> bytes:
        """Return the text in UTF-8."""
        return self.text.encode() if self._utf_8 is None else self._utf_8

    @cached_property
    def _with_newlines(self) -> str:
        """The text with one newline at the end of each line; all offsets are the same."""
        if "\r" not in self.text:
            return self.text
        return self.text.replace("\r\n", " \n").replace("\r", "\n")

    @cached_property
    def _lines_before(self) -> list[int]:
        """How many lines end before each block, so that only a block is searched for a line."""
        counts = (
            self._with_newlines.count("\n", first, first + _BLOCK)
            for first in range(0, len(self.text), _BLOCK)
        )
        return list(accumulate(counts, initial=0))

    def location(self, offset: int, pointer: str = "", width: int = 1) -> Location:
        """Return the location of a character, with an excerpt of its line.

        The excerpt of a very long line, as in minified JSON, begins at `Location.excerpt_column`.
        """
        text, block = self._with_newlines, offset // _BLOCK
        line = self._lines_before[block] + text.count("\n", block * _BLOCK, offset) + 1
        start = text.rfind("\n", 0, offset) + 1
        found = text.find("\n", offset)
        end = len(text) if found < 0 else found
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        first = max(start, min(offset - _BEFORE, end - _MAX_EXCERPT))
        shown = self._excerpt(first, min(end, first + _MAX_EXCERPT))
        return Location(
            self.shown_as,
            line,
            offset - start + 1,
            pointer,
            shown,
            max(1, min(width, first + len(shown) - offset)),
            first - start + 1,
            first + len(shown) < end,
        )

    def _excerpt(self, start: int, end: int) -> str:
        """Return a part of the text with masked credentials, including partly contained ones."""
        before = max(0, start - _MAX_EXCERPT)
        context = self.text[before : end + _MAX_EXCERPT]
        context = _USERINFO.sub(lambda found: "*" * len(found[0]), context)
        for secret in self.secrets:
            context = context.replace(secret, "*" * len(secret))
        return context[start - before : end - before]


def decode(content: bytes, shown_as: str, problems: Problems) -> SourceText:
    """Decode UTF-8, or UTF-16 or UTF-32 by the first bytes (YAML 1.2.2, section 5.2).

    Raises:
        RejectedError: the bytes are invalid in that encoding.
    """
    encoding, skipped = _detect_encoding(content)
    content = content[skipped:]
    try:
        text = content.decode(encoding)
        return SourceText(shown_as, text, content if encoding == "utf-8" else None)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, errors="replace")
        place = SourceText(shown_as, before).location(len(before))
        problems.error(
            "not-text",
            f"invalid {encoding.upper()}: byte 0x{error.object[error.start]:02x}"
            if error.start < len(error.object)
            else f"invalid {encoding.upper()}: the text ends inside a character",
            at=place,
            why="decoding with another encoding would corrupt names and values",
            help="save the file as UTF-8",
        )
        raise RejectedError from None


def _detect_encoding(content: bytes) -> tuple[str, int]:
    """Return the encoding and the length of its byte order mark."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return encoding, len(mark)
    for pattern, encoding in _ZERO_PATTERNS:
        if pattern.match(content):
            return encoding, 0
    return "utf-8", 0


def describe_type(value: JsonValue) -> str:
    """Return the JSON type of a value with its article: "an array"."""
    names = {str: "a string", bool: "a boolean", list: "an array", dict: "an object"}
    return "null" if value is None else names.get(type(value), "a number")


class Limits(Struct, frozen=True):
    """Limits for one document with all its files.

    With YAML aliases expanded, it may have `max_alias_growth` times its written nodes or
    `max_expanded_nodes`, whichever is more.
    """

    max_document_bytes: int = 32 * 1024 * 1024
    max_depth: int = 256
    max_alias_growth: int = 10
    max_expanded_nodes: int = 1_000_000
    max_number_digits: int = 4_000
    max_files: int = 5_000
    max_ref_chain: int = 128
    fetch_timeout_seconds: float = 30.0


DEFAULT_LIMITS = Limits()
