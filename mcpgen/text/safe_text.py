"""The type of text that is escaped for a generated file."""

from __future__ import annotations


class SafeText(str):
    """Text in the language of its target file, with all untrusted parts escaped.

    Only escaping functions create it (`mcpgen/render/environment.py`). Templates reject other strings.
    """

    __slots__ = ()
