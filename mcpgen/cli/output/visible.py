"""Escaping of invisible and control characters in terminal output."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return `text` on one line, with control and invisible characters escaped.

    Text from documents reaches the terminal only through this function.
    """
    return _UNPRINTABLE.sub(
        lambda found: " " if found[0] == "\t" else f"\\u{ord(found[0]):04x}", text
    )
