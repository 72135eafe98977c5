"""Stack traces and paths of code in error messages that reach a client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from mcpgen.factory.wire.frames import Frame, iterate_messages
from mcpgen.jsonschema.types import JsonObject

_ABSOLUTE: Final = r"(?:file://)?(?:/|[A-Za-z]:[\\/])"
# Each needs the path of a file: traces of code that a tool runs for its caller have none.
_TRACES: Final = {
    "Python": re.compile(
        rf'Traceback \(most recent call last\).*File "{_ABSOLUTE}[^"\n]+", line \d+', re.DOTALL
    ),
    "JavaScript": re.compile(rf"\n\s+at [^\n]*{_ABSOLUTE}[^\n]+\.[cm]?[jt]sx?:\d+:\d+\)?"),
    "Java": re.compile(r"\n\s+at [\w.$<>]+\(\w+\.(?:java|kt|scala):\d+\)"),
    "Go": re.compile(r"goroutine \d+ \[running\]:"),
    "Rust": re.compile(r"panicked at [^\n]*\.rs:\d+"),
    "Ruby": re.compile(rf"{_ABSOLUTE}[^\n]+\.rb:\d+:in [`']"),
    "PHP": re.compile(rf"\n?#\d+ {_ABSOLUTE}[^\n]+\.php\(\d+\)"),
    ".NET": re.compile(r"\n\s+at [^\n]+ in [^\n]+\.(?:cs|fs|vb):line \d+"),
}
_SOURCE: Final = r"\.(?:py|[cm]?[jt]sx?|rb|go|rs|java|kt|php|cs)\b"
_PATH: Final = re.compile(
    rf"{_ABSOLUTE}[^\s\"'<>|*?]*?"
    rf"(?:(?:site|dist)-packages|node_modules)[\\/][^\s\"'<>|*?]*"
    rf"|{_ABSOLUTE}[^\s\"'<>|*?:]+{_SOURCE}(?=\"?(?::|\(|, line )\d)"
)


def find_trace(text: str) -> str:
    """Return the language of a stack trace in a text; "" if there is none."""
    return next((name for name, pattern in _TRACES.items() if pattern.search(text)), "")


def find_path(text: str, sent: str) -> str:
    """Return a path to code in a text that was not in the sent message; "" if there is none."""
    return next((found[0] for found in _PATH.finditer(text) if found[0] not in sent), "")


def iterate_error_texts(frame: Frame) -> Iterator[str]:
    """Yield the texts that inform a client of a failure.

    They are the message and the data of an error response, the content of a result with `isError`,
    and the body of an HTTP response with an error status that is not a message.
    """
    is_message = False
    for message in iterate_messages(frame):
        is_message = True
        yield from _iterate_message_texts(message)
    if not is_message and frame.http is not None and frame.http.status >= 400:
        yield frame.raw.decode("utf-8", "replace")


def _iterate_message_texts(message: JsonObject) -> Iterator[str]:
    result = message.get("result")
    if "error" in message:
        yield from _iterate_strings(message["error"])
    elif isinstance(result, dict) and result.get("isError") is True:
        yield from _iterate_strings(result.get("content"))
        yield from _iterate_strings(result.get("structuredContent"))


def _iterate_strings(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            pending += each.values()
        elif isinstance(each, list):
            pending += each
