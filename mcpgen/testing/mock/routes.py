"""Routing: finds the operations of an API that match a path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote


@dataclass(slots=True)
class _Node:
    """A node of the tree of path templates, reached by their first segments."""

    literals: dict[str, _Node] = field(default_factory=dict)
    patterns: dict[re.Pattern[str], _Node] = field(default_factory=dict)
    keys: list[tuple[int, str]] = field(default_factory=list)  # with their place in the document

    def match(self, segments: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield the operations that match the segments of a path."""
        if not segments:
            yield from self.keys
            return
        text, rest = segments[0], segments[1:]
        for literal in {text, unquote(text)}:
            if literal in self.literals:
                yield from self.literals[literal].match(rest)
        for pattern, node in self.patterns.items():
            if pattern.fullmatch(text):
                yield from node.match(rest)


class Routes:
    """A tree of path templates, which avoids a comparison with each of them."""

    def __init__(self, operations: Iterable[tuple[str, str, str]]) -> None:
        """Add the method, the path template and the key of each operation."""
        self._roots: dict[str, _Node] = {}
        for place, (method, path, key) in enumerate(operations):
            node = self._roots.setdefault(method, _Node())
            for literal, pattern, _ in _split_template(path):
                if pattern is None:
                    node = node.literals.setdefault(literal, _Node())
                else:
                    node = node.patterns.setdefault(pattern, _Node())
            node.keys.append((place, key))

    def find(self, method: str, path: str) -> list[str]:
        """Return the keys of the operations that match a path below the base URL."""
        root = self._roots.get(method, _Node())
        return [key for _, key in sorted(root.match(path.split("/")))]


def match_path(template: str, path: str) -> dict[str, str] | None:
    """Return the raw text of each parameter of a path, or None if it does not match."""
    wanted, found = _split_template(template), path.split("/")
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
def _split_template(template: str) -> list[_Segment]:
    """Return the text of each segment, or its pattern and the names of its parameters."""
    path = template.partition("#")[0].partition("?")[0]  # some documents have more than a path
    return [_parse_segment(segment) for segment in path.split("/")]


def _parse_segment(segment: str) -> _Segment:
    names = re.findall(r"\{([^{}]*)\}", segment)
    if not names:
        return unquote(segment), None, []
    first, *literals = re.split(r"\{[^{}]*\}", segment)
    # What precedes a dot may be a number or a name with dots: `{latitude}.{format}`.
    groups = ("(.+)" if literal[:1] == "." else "(.+?)" for literal in literals)
    ends = (group + re.escape(literal) for group, literal in zip(groups, literals, strict=True))
    return "", re.compile(re.escape(first) + "".join(ends)), names
