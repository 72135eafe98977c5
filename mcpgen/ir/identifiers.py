"""Python names and file names that came from a stranger's text, checked once and for all."""

from __future__ import annotations

import keyword
import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Identifier(str):
    """A string that may stand in Python source as a name: ASCII, no keyword, no dunder.

    Raises:
        ValueError: the text is anything else. Callers rename first; this only refuses.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Identifier:
        """Check `text` and mark it as safe in identifier position."""
        if not _PLAIN.match(text) or keyword.iskeyword(text) or text.startswith("__"):
            raise ValueError(f"not a Python identifier: {text!r}")
        return super().__new__(cls, text)


_FILE_NAME = re.compile(r"[a-z0-9_]+(\.[a-z]+)*\Z")
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}
)


def safe_filename(text: str) -> str:
    """Give `text` back when it is a file name that Linux, macOS and Windows take as it stands.

    Raises:
        ValueError: it is empty, too long, a device name, or has a character outside `[a-z0-9_.]`.
    """
    if not _FILE_NAME.match(text) or len(text) > 100 or text.split(".", maxsplit=1)[0] in _DEVICES:
        raise ValueError(f"not a portable file name: {text!r}")
    return text
