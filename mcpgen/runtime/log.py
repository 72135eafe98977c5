"""The server's own log: stderr, one line a record, nothing from a stranger left unescaped."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

MAX_LINE = 1000


def log(level: str, text: str) -> None:
    """Write one line to stderr. Control characters are escaped, and a long text is cut."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    stderr: TextIO | None = sys.stderr  # None where it was closed from the start
    if stderr is None:
        return
    try:
        stderr.write(f"{level}: {text[:MAX_LINE]}\n")
        stderr.flush()
    except (OSError, ValueError):
        return  # whoever started the server closed its stderr: there is nobody to tell


def describe_error(error: BaseException) -> str:
    """Describe an exception on one line: its type, its text and where it was raised.

    If it was raised in a library, the line of `handlers/` that called the library comes first.
    """
    places = _places(error)
    if not places:
        return f"{type(error).__name__}: {error}"
    path, line = place_of_error(error)
    raised_at = f", raised at {places[-1][0]}:{places[-1][1]}"
    library = "" if (path, line) == places[-1] else raised_at
    return f"{type(error).__name__}: {error} ({path}:{line}{library})"


def place_of_error(error: BaseException) -> tuple[str, int]:
    """Return the file and line of an exception, the last ones in `handlers/` if it has been there.

    An exception that was never raised has ("", 0).
    """
    places = _places(error)
    folder = next(filter(None, (_handlers_folder(path) for path, _ in places)), None)
    in_handlers = [place for place in places if folder and place[0].startswith(folder)]
    return (in_handlers or places or [("", 0)])[-1]


def _places(error: BaseException) -> list[tuple[str, int]]:
    places: list[tuple[str, int]] = []
    step = error.__traceback__
    while step is not None:
        places.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return places


def _handlers_folder(path: str) -> str:
    """Return the path up to its first folder `handlers`, or "" for a file elsewhere."""
    before, found, _ = path.replace("\\", "/").partition("/handlers/")
    return path[: len(before + found)] if found else ""
