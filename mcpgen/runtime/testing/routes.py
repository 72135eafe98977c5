"""Which operations of an API a request can mean, by its path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote

_ANY = "{}"  # stands for a first segment with a parameter in it, and is in no path as it stands


class Routes:
    """Operations by method and path, found without asking each of them."""

    def __init__(self, operations: Iterable[tuple[str, str, str]]) -> None:
        """Take the method, the path template and the key of each operation."""
        self._by_shape: dict[tuple[str, int, str], list[tuple[str, str]]] = {}
        for method, path, key in operations:
            template = template_of(path)
            first = _first_segment(template)
            shape = (method, template.count("/"), _ANY if "{" in first else first)
            self._by_shape.setdefault(shape, []).append((path, key))

    def fitting(self, method: str, path: str) -> Iterator[str]:
        """Give the keys of the operations whose template a path, below the base URL, fits."""
        for first in (_first_segment(path), _ANY):
            for template, key in self._by_shape.get((method, path.count("/"), first), ()):
                if path_texts(template, path) is not None:
                    yield key


def template_of(path: str) -> str:
    """Give a path template without the query and the fragment that some documents write there."""
    return path.partition("#")[0].partition("?")[0]


def _first_segment(path: str) -> str:
    return unquote(path.removeprefix("/").partition("/")[0])


def path_texts(template: str, path: str) -> dict[str, str] | None:
    """Match a path against a template: the raw text of each parameter, or None for no match."""
    wanted, found = _segments(template), path.split("/")
    if len(wanted) != len(found):
        return None
    texts: dict[str, str] = {}
    for (literal, pattern, names), text in zip(wanted, found, strict=True):
        if pattern is None:
            if literal != text and literal != unquote(text):
                return None
            continue
        match = pattern.fullmatch(text)
        if match is None:
            return None
        texts.update(zip(names, match.groups(), strict=True))
    return texts


_Segment = tuple[str, re.Pattern[str] | None, list[str]]


@lru_cache(maxsize=4096)
def _segments(template: str) -> list[_Segment]:
    """Each segment of a template: its text, or the pattern of one with parameters, and these."""
    return [_segment(segment) for segment in template_of(template).split("/")]


def _segment(segment: str) -> _Segment:
    names = re.findall(r"\{([^{}]*)\}", segment)
    if not names:
        return unquote(segment), None, []
    literals = re.split(r"\{[^{}]*\}", segment)
    return "", re.compile("(.+?)".join(map(re.escape, literals))), names
