"""Checked Python identifiers and file names for generated code, and the PascalCase of a text."""

from __future__ import annotations

import keyword
import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Identifier(str):
    """An ASCII Python identifier that is no keyword and does not start with two underscores.

    Raises:
        ValueError: the text is invalid. Callers derive a valid name first.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Identifier:
        """Check `text`."""
        if not _PLAIN.match(text) or keyword.iskeyword(text) or text.startswith("__"):
            raise ValueError(f"not a Python identifier: {text!r}")
        return super().__new__(cls, text)


_WORD = re.compile(r"[A-Za-z0-9]+")


def pascal_case(text: str) -> str:
    """Join the ASCII words of `text`, each capitalized: "created_at" becomes "CreatedAt".

    The capitals of a word are kept. The result may be empty or begin with a digit.
    """
    return "".join(word[0].upper() + word[1:] for word in _WORD.findall(text))


_FILE_NAME = re.compile(r"[a-z0-9_]+(\.[a-z]+)*\Z")
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}
)


def safe_filename(text: str) -> str:
    """Return `text` if it is a valid file name on Linux, macOS and Windows.

    Raises:
        ValueError: it is empty, longer than 100 characters, a device name of Windows, or has a
            character outside `[a-z0-9_.]`.
    """
    if not _FILE_NAME.match(text) or len(text) > 100 or text.split(".", maxsplit=1)[0] in _DEVICES:
        raise ValueError(f"not a portable file name: {text!r}")
    return text
