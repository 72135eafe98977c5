"""The head of a connection's latest request, of which the next one usually repeats most lines."""

from __future__ import annotations

from itertools import compress
from operator import ne
from typing import Final

from mcpgen.runtime.http_syntax import parse_field
from mcpgen.runtime.transports.http.request_head import (
    CONTENT_LENGTH,
    ParsedRequest,
    affects_more_than_fields,
    parse_length,
    parse_request,
)

MAX_BYTES: Final = 2048  # of a head that is stored


class LatestHead:
    """A parser of request heads that parses only the lines that the latest head did not have.

    Each connection has its own, since the requests of one client often differ in a length, a token,
    an id or a trace. It accepts and rejects what `parse_request` does, with the same result. A line
    that affects more than `fields` and the length of the body has the whole head parsed.
    """

    __slots__ = ("_head", "_lines", "_parsed")

    def __init__(self) -> None:
        self._head = b""
        self._lines: list[bytes] = []
        self._parsed: ParsedRequest | None = None

    def parse(self, head: bytes) -> ParsedRequest:
        """Parse a complete head, without its empty line.

        Raises:
            MalformedMessageError: as `parse_request`.
        """
        if self._parsed is not None and head == self._head:
            return self._parsed
        lines = head.split(b"\r\n")
        parsed = self._parse_changes(lines) or parse_request(head)
        if len(head) <= MAX_BYTES and not parsed.head.repeated:
            self._head, self._lines, self._parsed = head, lines, parsed
        return parsed

    def _parse_changes(self, lines: list[bytes]) -> ParsedRequest | None:
        """Parse the lines that have changed; return None if another part of the result may differ.

        Raises:
            MalformedMessageError: a line is malformed.
        """
        latest, parsed = self._lines, self._parsed
        if parsed is None or len(lines) != len(latest) or lines[0] != latest[0]:
            return None
        fields, length = parsed.head.fields.copy(), parsed.content_length
        for line, former in compress(zip(lines, latest, strict=True), map(ne, lines, latest)):
            name, value = parse_field(line)
            if not former.startswith(name + b":"):
                return None
            name = name.lower()
            if name == CONTENT_LENGTH:
                length = parse_length(value)
            elif affects_more_than_fields(name):
                return None
            fields[name] = value
        return ParsedRequest(parsed.head.replace_fields(fields), length, *parsed[2:])
