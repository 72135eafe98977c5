"""Markdown of bounded length: sections are cut, the least important ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

MAX_LENGTH: Final = 65_536
"""The length that the text of a pull request on GitHub must stay below."""


class Section(Struct, frozen=True):
    """A heading, and lines of Markdown below it, the most important first."""

    title: str
    lines: Sequence[str]
    heads: Sequence[str] = ()  # lines that are always shown above them, such as a table's head


def measure(text: str) -> int:
    """Return the length of a text in UTF-16 code units, of which a character is one or two."""
    return len(text) + sum(character > "\uffff" for character in text)


def compose(head: str, sections: Sequence[Section], limit: int, more: str) -> str:
    """Return the head and the sections in at most `limit` UTF-16 code units.

    A section may use half of the space that the sections before it left, the last one all of it. A
    section that is cut ends with the number of missing lines, and `more`: where they are.
    """
    while measure(head) > limit:
        head = head.rstrip("\n").rpartition("\n")[0] + "\n" if "\n" in head.rstrip("\n") else ""
    shown = [section for section in sections if section.lines]
    left = limit - measure(head)
    parts = [head]
    for number, section in enumerate(shown):
        is_last = number == len(shown) - 1
        part = _cut(section, left if is_last else left // 2, more)
        left -= measure(part)
        parts.append(part)
    return "".join(parts)


def _cut(section: Section, limit: int, more: str) -> str:
    """Return as much of a section as fits; "" if not even its heading does."""
    top = "\n".join(("", section.title, "", *section.heads, ""))
    lines = [f"{line}\n" for line in section.lines]
    ends = [measure(top)]
    for line in lines:
        ends.append(ends[-1] + measure(line))
    if ends[-1] <= limit:
        return top + "".join(lines)
    for count in range(len(lines) - 1, -1, -1):
        note = f"\nand {len(lines) - count:,} more: {more}\n"
        if ends[count] + measure(note) <= limit:
            return top + "".join(lines[:count]) + note
    return ""


def share(lengths: Sequence[int], limit: int) -> int:
    """Return the maximum length of several texts with which all of them fit together.

    Space that short texts do not need is available to the others.
    """
    left = limit
    for number, length in enumerate(sorted(lengths)):
        most = left // (len(lengths) - number)
        if length > most:
            return most
        left -= length
    return max(lengths, default=limit)
