"""Text that may be written into a file as it stands, told from text that may not."""

from __future__ import annotations


class SafeText(str):
    """Text in the language of the file that it goes to, every stranger's word in it escaped.

    Only the functions that escape or spell make one (`mcpgen/render/filters.py`); templates
    refuse everything else that is a string.
    """

    __slots__ = ()
