"""Parsers for the values of a server's command-line options."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

DEFAULT_PORT: Final = 8000
MAX_PORT: Final = 65_535

_HOST: Final = re.compile(
    r"(?=.{1,254}\Z)(?:[A-Za-z0-9_-]{1,63}(?:\.|\Z))+\Z|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%[A-Za-z0-9._~-]+)?\Z"
)
_NAME_IN_HEADER: Final = re.compile(r"[A-Za-z0-9._-]{1,255}\Z|\[[0-9A-Fa-f:.]{2,45}\]\Z")
_ORIGIN: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?/?\Z"
)


def parse_seconds(text: str, *, maximum: float) -> float:
    """Parse a finite number of seconds, from 0 to `maximum`.

    Raises:
        ArgumentTypeError: the text is not such a number.
    """
    try:
        seconds = math.nan if "_" in text else float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= maximum:
        raise ArgumentTypeError(f"expected seconds from 0 to {maximum:.0f}, but got {text!a}")
    return seconds


def parse_port(text: str) -> int:
    """Parse a TCP port; 0 stands for any free port.

    Raises:
        ArgumentTypeError: the text is not a port.
    """
    # `int` alone also accepts "1_000", " 80" and digits of other scripts.
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) <= MAX_PORT):
        raise ArgumentTypeError(f"expected a port from 0 to {MAX_PORT}, but got {text!a}")
    return int(text)


def parse_workers(text: str, *, maximum: float) -> int:
    """Parse a number of processes.

    Raises:
        ArgumentTypeError: the text is not a number from 1 to `maximum`.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= 5):
        text = text or "nothing"
    elif 1 <= int(text) <= maximum:
        return int(text)
    raise ArgumentTypeError(f"expected a number from 1 to {maximum:.0f}, but got {text!a}")


def parse_host(text: str) -> str:
    """Check an address or a host name to listen on; IPv6 addresses have no brackets.

    Raises:
        ArgumentTypeError: the text is neither.
    """
    if not _HOST.match(text):
        raise ArgumentTypeError(f"expected an address or a host name, but got {text!a}")
    return text


def parse_allowed_host(text: str) -> str:
    """Check a host name for the Host header, without a port.

    Raises:
        ArgumentTypeError: the name is not valid in a Host header.
    """
    if not _NAME_IN_HEADER.match(text):
        raise ArgumentTypeError(
            f"expected a host name without a port, such as mcp.example.com, but got {text!a}"
        )
    return text


def parse_allowed_origin(text: str) -> str:
    """Check the origin of a web page: a scheme, a host and an optional port.

    Raises:
        ArgumentTypeError: the value is not valid in an Origin header, or is `null`.
    """
    match = _ORIGIN.match(text)
    if match is None or int(match["port"] or 1) not in range(1, MAX_PORT + 1):
        raise ArgumentTypeError(f"expected an origin such as https://app.example, but got {text!a}")
    return text
