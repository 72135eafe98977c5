"""The head of a connection's latest request, of which the next one usually repeats most lines."""

from __future__ import annotations

from typing import Final

from mcpgen.runtime.http_syntax import parse_field, trim_value
from mcpgen.runtime.transports.http.request_head import (
    CONTENT_LENGTH,
    ParsedRequest,
    affects_more_than_fields,
    parse_length,
    parse_request,
)

MAX_BYTES: Final = 2048  # of a head that is stored
_LINE_END: Final = b"\r\n"


class LatestHead:
    """A parser of request heads that parses only what the latest head did not have.

    Each connection has its own, since the requests of one client often differ in a length, a token,
    an id or a trace. If they differ in the value of one field, only that value is parsed while what
    is around it stays; otherwise, the lines that differ. A field that affects more than `fields`
    and the length of the body has the whole head parsed. The parser accepts and rejects what
    `parse_request` does, with the same result.
    """

    __slots__ = ("_after", "_before", "_head", "_name", "_parsed")

    def __init__(self) -> None:
        self._head = b""
        self._parsed: ParsedRequest | None = None
        self._name = b""  # of the only field that changed, in lower case; b"" for none
        self._before = b""  # what is before its value in the latest head
        self._after = b""

    def parse(self, head: bytes) -> ParsedRequest:
        """Parse a complete head, without its empty line.

        Raises:
            MalformedMessageError: as `parse_request`.
        """
        latest = self._parsed
        if latest is None:
            parsed = parse_request(head)
        elif head == self._head:
            return latest
        else:
            parsed = self._parse_value(head, latest) or self._parse_lines(head, latest)
        if len(head) <= MAX_BYTES and not parsed.head.repeated:
            self._head, self._parsed = head, parsed
        return parsed

    def _parse_value(self, head: bytes, latest: ParsedRequest) -> ParsedRequest | None:
        """Parse the value of the known field; return None if that is not what has changed."""
        name, before, after = self._name, self._before, self._after
        if not (name and head.startswith(before) and head.endswith(after)):
            return None
        # Both overlap in no head, since names do not repeat.
        value = trim_value(head[len(before) : len(head) - len(after)])
        if value is None:
            return None
        fields = latest.fields.copy()
        fields[name] = value
        length = parse_length(value) if name == CONTENT_LENGTH else latest.content_length
        return ParsedRequest(latest.head, fields, length, latest.transfer)

    def _parse_lines(self, head: bytes, latest: ParsedRequest) -> ParsedRequest:
        """Parse the lines that have changed, or the head if another part of it may differ."""
        self._name = b""
        lines, former = head.split(_LINE_END), self._head.split(_LINE_END)
        if len(lines) != len(former) or lines[0] != former[0]:
            return parse_request(head)
        fields, length = latest.fields.copy(), latest.content_length
        changed = [number for number, line in enumerate(former) if line != lines[number]]
        for number in changed:
            name, value = parse_field(lines[number])
            if not former[number].startswith(name + b":"):
                return parse_request(head)
            name = name.lower()
            if name == CONTENT_LENGTH:
                length = parse_length(value)
            elif affects_more_than_fields(name):
                return parse_request(head)
            fields[name] = value
        if len(changed) == 1:
            self._expect_change(name, lines, changed[0])
        return ParsedRequest(latest.head, fields, length, latest.transfer)

    def _expect_change(self, name: bytes, lines: list[bytes], number: int) -> None:
        """Expect the next head to differ in the value of this field, which is in one line only."""
        self._name = name
        prefix = lines[number][: len(name) + 1]
        self._before = _LINE_END.join([*lines[:number], prefix])
        self._after = b"".join([_LINE_END + line for line in lines[number + 1 :]])
