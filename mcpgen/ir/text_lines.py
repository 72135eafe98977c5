"""Lines of a text as Python's parser counts them."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def text_lines(text: str) -> list[str]:
    r"""Split a text after its line ends, which stay: "\n", "\r\n" and "\r".

    `str.splitlines` also splits where only a page or a paragraph ends ("\f", U+2029), and then
    counts more lines than a parser does.
    """
    return _LINE.findall(text)
