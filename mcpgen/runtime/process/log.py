"""Log lines on stderr: one line for each record, bounded, without control characters."""

from __future__ import annotations

import os
import sys
import time

import mcpgen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final, TextIO

MAX_LINE_BYTES: Final = 1_000
MAX_LINES_PER_SECOND: Final = 50
MAX_ERROR_TEXT: Final = 500
_MAX_FIELD: Final = 80  # characters of a field of a JSON line
PACKAGE_FOLDER: Final = os.path.join(mcpgen.__path__[0], "")  # noqa: PTH118  (frames have paths as text)
"""The folder of mcpgen, with a separator at its end."""


_RANKS: Final = {"debug": 0, "info": 1, "warning": 2, "error": 3, "critical": 3}
_hide: Callable[[str], str] | None = None


def hide_in_log(hide: Callable[[str], str]) -> None:
    """Mask secrets with `hide` in all later log lines."""
    global _hide  # noqa: PLW0603  (a process has one stderr)
    _hide = hide


_least_rank = _RANKS["info"]
_is_json = False


def set_log_style(level: str, style: str) -> None:
    """Set the least severe level that is logged, and the format: `text` or `json`."""
    global _least_rank, _is_json
    _least_rank, _is_json = _RANKS[level], style == "json"


def is_logged(level: str) -> bool:
    """Return whether lines of a level are logged."""
    return _RANKS.get(level, 1) >= _least_rank


def log(level: str, text: str, fields: Mapping[str, object] | None = None) -> None:
    """Write one line to the log on stderr. All lines of the server's log are written here.

    `fields` are further members of a JSON line; in text, those with a value follow the message.
    """
    if _RANKS.get(level, 1) >= _least_rank:
        _sink(format_line(level, text, fields))


def format_line(level: str, text: str, fields: Mapping[str, object] | None = None) -> str:
    """Format a log line of at most `MAX_LINE_BYTES`.

    Secrets are masked (`hide_in_log`), control and invisible characters escaped.
    """
    if _is_json:
        return _format_json(level, text, fields or {})
    if fields:
        text += "".join(
            f" {name}={value}" for name, value in fields.items() if value not in (None, "")
        )
    line = f"{level}: {_escape(mask(text)[:MAX_LINE_BYTES])}"
    return line.encode()[: MAX_LINE_BYTES - 1].decode(errors="ignore") + "\n"


def _format_json(level: str, text: str, fields: Mapping[str, object]) -> str:
    """Format a line of JSON in ASCII; the message is shortened until the line fits."""
    import json
    from datetime import UTC, datetime

    time_text = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    shown = {
        name: _escape(mask(value)[:_MAX_FIELD]) if isinstance(value, str) else value
        for name, value in fields.items()
    }
    message = _escape(mask(text)[:MAX_LINE_BYTES])
    while True:
        members = {"time": time_text, "level": level, "message": message, **shown}
        line = json.dumps(members, separators=(",", ":")) + "\n"
        if len(line) <= MAX_LINE_BYTES or not message:
            return line
        message = message[: max(0, len(message) - (len(line) - MAX_LINE_BYTES + 5) // 6 - 1)]


def mask(text: str) -> str:
    """Mask the secrets in a text before it is truncated: half of a secret would not be found."""
    return text if _hide is None else _hide(text[: 20 * MAX_LINE_BYTES])


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def write_line(line: str) -> None:
    """Write a line to stderr immediately; ignore a closed stderr."""
    stderr: TextIO | None = sys.stderr  # None if the process started with it closed
    if stderr is None:
        return
    try:
        stderr.write(line)
        stderr.flush()
    except (OSError, ValueError):
        return  # the reader closed its end


_sink: Callable[[str], None] = write_line


def send_lines_to(sink: Callable[[str], None]) -> None:
    """Pass each later log line, formatted, to `sink`."""
    global _sink  # noqa: PLW0603  (the log of a process)
    _sink = sink


class LineLimit:
    """Rate limit of `MAX_LINES_PER_SECOND` lines. Lines above it are dropped and counted.

    A line with the count precedes the first line of a later second.
    """

    def __init__(
        self,
        write: Callable[[str], None] = write_line,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._clock = clock
        self._second = -1
        self._lines = 0
        self._dropped = 0

    def write(self, line: str) -> None:
        """Write a line, or drop and count it."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._lines = second, 0
        if self._lines >= MAX_LINES_PER_SECOND:
            self._dropped += 1
            return
        self._lines += 1
        if self._dropped:
            lines = "1 line was" if self._dropped == 1 else f"{self._dropped:,} lines were"
            reason = f"there were more than {MAX_LINES_PER_SECOND} in a second"
            self._dropped = 0
            self._write(format_line("warning", f"{lines} dropped because {reason}"))
        self._write(line)


def describe_error(error: BaseException) -> str:
    """Describe an exception on one line: its type, its text and where it was raised.

    If a library raised it, the line in `handlers/` that called the library comes first.
    """
    locations = _list_locations(error)
    text = _format_error_text(error)
    if not locations:
        return f"{type(error).__name__}: {text}"
    path, line = locate_error(error)
    raised_at = f", raised at {locations[-1][0]}:{locations[-1][1]}"
    library = "" if (path, line) == locations[-1] else raised_at
    return f"{type(error).__name__}: {text} ({path}:{line}{library})"


def _format_error_text(error: BaseException) -> str:
    """Return the text of an exception, short enough to leave room for its location."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  (an exception of a handler, whose `__str__` may fail)
        return "(no text: its __str__ failed)"
    shown = _escape(mask(text)[:MAX_ERROR_TEXT])[:MAX_ERROR_TEXT]
    return shown if len(text) <= MAX_ERROR_TEXT else f"{shown}…"


def locate_error(error: BaseException) -> tuple[str, int]:
    """Return file and line of the innermost frame in `handlers/`, else of the innermost frame.

    An exception without a traceback has ("", 0).
    """
    locations = _list_locations(error)
    folder = next(filter(None, (_find_handlers_folder(path) for path, _ in locations)), None)
    in_handlers = [it for it in locations if folder and it[0].startswith(folder)]
    return (in_handlers or locations or [("", 0)])[-1]


def _list_locations(error: BaseException) -> list[tuple[str, int]]:
    locations: list[tuple[str, int]] = []
    step = error.__traceback__
    while step is not None:
        locations.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return locations


def _find_handlers_folder(path: str) -> str:
    """Return the path up to its first folder `handlers`; "" for other files and mcpgen's own."""
    if path.startswith(PACKAGE_FOLDER):
        return ""
    before, found, _ = path.replace("\\", "/").partition("/handlers/")
    return path[: len(before + found)] if found else ""
