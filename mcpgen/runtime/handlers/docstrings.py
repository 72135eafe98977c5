"""Descriptions from a function's docstring: of the function and of each parameter.

Layouts read: Google's (`Args:`), NumPy's (`Parameters` over dashes), Sphinx's (`:param name:`).
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final

_SECTION: Final = re.compile(
    r"^(?:(?:Args|Arguments|Keyword Arg(?:ument)?s|Parameters|Returns?|Yields?|Raises):[ \t]*$"
    r"|(?:(?:Other )?Parameters|Returns|Yields|Raises)\n-{3,}[ \t]*$"
    r"|:(?:param|arg|key|keyword|type|returns?|rtype|raises?|yields?)\b.*:)",
    re.MULTILINE,
)
_GOOGLE_PARAMETERS: Final = re.compile(
    r"^(?:Args|Arguments|Keyword Arg(?:ument)?s|Parameters):[ \t]*\n((?:[ \t]+\S.*\n?|[ \t]*\n)+)",
    re.MULTILINE,
)
_NUMPY_PARAMETERS: Final = re.compile(
    r"^(?:Other )?Parameters\n-{3,}[ \t]*\n(.*?)(?=^\S[^\n]*\n-{3,}|\Z)", re.MULTILINE | re.DOTALL
)
_SPHINX_PARAMETER: Final = re.compile(r":(?:param|arg|key|keyword) (?:[^:]* )?(\w+):(.*)")
_ENTRY: Final = re.compile(r"^(\S.*)((?:\n[ \t]+.*|\n(?=\n*[ \t]))*)", re.MULTILINE)


def read_summary(function: Callable[..., Any]) -> str:
    """Return the docstring up to its first section."""
    text = inspect.getdoc(function) or ""
    section = _SECTION.search(text)
    return (text[: section.start()] if section else text).strip()


def read_parameter_texts(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter, on one line, by its name."""
    return {
        name: " ".join(text.split())
        for name, text in _iterate_texts(inspect.getdoc(function) or "")
    }


def _iterate_texts(docstring: str) -> Iterator[tuple[str, str]]:
    for section in _GOOGLE_PARAMETERS.findall(docstring):
        for head, below in _ENTRY.findall(textwrap.dedent(section)):
            name, _, beside = head.partition(":")  # `name (int, optional): text`
            yield name.partition(" ")[0], beside + below
    for section in _NUMPY_PARAMETERS.findall(docstring):
        for head, below in _ENTRY.findall(section):
            for name in head.partition(":")[0].split(","):  # `name, other : int`
                yield name.strip(), below
    for head, below in _ENTRY.findall(docstring):
        if field := _SPHINX_PARAMETER.match(head):
            yield field[1], field[2] + below
