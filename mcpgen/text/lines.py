"""Splitting of text into lines as parsers count them."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def text_lines(text: str) -> list[str]:
    r"""Split a text after each "\n", "\r\n" and "\r", which stay in the lines.

    `str.splitlines` also splits at "\f" and U+2029, so that it counts more lines than a parser.
    """
    return _LINE.findall(text)
