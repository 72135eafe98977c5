"""Text that a stranger wrote, in Markdown: shown, and never obeyed."""

from __future__ import annotations

import re

_CODE = re.compile(r"(?<!`)`([^`|]+)`(?!`)")
_SPECIAL = re.compile(r"([\\`*_\[\]#|~&$])")
_LINK = re.compile(r"(?i)\b(https?|ftp)(:)(?=//)|\b(www)(\.)")


def shown_literally(line: str) -> str:
    """Spell one line of text as Markdown that shows it, fit for a table's cell or a list's item.

    What stands between single backticks is shown as code.
    """
    prose_and_code = _CODE.split(line)
    return "".join(
        f"`{part}`" if number % 2 else _prose(part) for number, part in enumerate(prose_and_code)
    )


def _prose(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", text)
    unlinked = _LINK.sub(r"\1\3\\\2\4", escaped)
    return unlinked.replace("@", "&#64;").replace("<", "&lt;")
