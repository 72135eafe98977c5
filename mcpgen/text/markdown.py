"""Escaping of untrusted text for Markdown, so that it cannot add markup or links."""

from __future__ import annotations

import re

_CODE = re.compile(r"(?<!`)`([^`|]+)`(?!`)")
_SPECIAL = re.compile(r"([\\`*_\[\]#|~&$])")
_LINK = re.compile(r"(?i)\b(https?|ftp)(:)(?=//)|\b(www)(\.)")


def escape_markdown_line(line: str) -> str:
    """Escape one line of text for a Markdown table cell or list item.

    Text between single backticks remains code.
    """
    prose_and_code = _CODE.split(line)
    return "".join(
        f"`{part}`" if number % 2 else _escape(part) for number, part in enumerate(prose_and_code)
    )


def _escape(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", text)
    unlinked = _LINK.sub(r"\1\3\\\2\4", escaped)
    return unlinked.replace("@", "&#64;").replace("<", "&lt;")
