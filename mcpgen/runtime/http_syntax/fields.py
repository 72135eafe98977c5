"""Strict parser of header and trailer fields (RFC 9112, section 5)."""

from __future__ import annotations

import re
from typing import Final

_FIELD: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")


class MalformedMessageError(ValueError):
    """A request or response that is not valid HTTP/1.1."""


def parse_field(line: bytes) -> tuple[bytes, bytes]:
    """Parse a field line into its name and its trimmed value.

    Raises:
        MalformedMessageError: it is not a valid field line.
    """
    field = _FIELD.fullmatch(line)
    if field is None:
        raise MalformedMessageError("invalid field line")
    return field[1], field[2].strip(b" \t")
