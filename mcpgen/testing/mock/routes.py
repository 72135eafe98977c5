"""Routing: finds the operations of an API that match a path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote

_MAX_WAYS = 200  # to read one segment of a path


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
            for segment in _split_template(path):
                if segment.pattern is None:
                    node = node.literals.setdefault(segment.literal, _Node())
                else:
                    node = node.patterns.setdefault(segment.pattern, _Node())
            node.keys.append((place, key))

    def find(self, method: str, path: str) -> list[str]:
        """Return the keys of the operations that match a path below the base URL."""
        root = self._roots.get(method, _Node())
        return [key for _, key in sorted(root.match(path.split("/")))]


def match_path(template: str, path: str) -> dict[str, list[str]] | None:
    """Return the raw texts that each parameter of a path may have, or None if it does not match.

    The likeliest is the first. There are several where no text, or one that values may contain, is
    between two parameters, as in `/{id}{suffix}` and `/{file}.{format}`.
    """
    expected, found = _split_template(template), path.split("/")
    if len(expected) != len(found):
        return None
    texts: dict[str, list[str]] = {}
    for segment, text in zip(expected, found, strict=True):
        if segment.pattern is None:
            if segment.literal not in {text, unquote(text)}:
                return None
            continue
        match = segment.pattern.fullmatch(text)
        if match is None:
            return None
        ways = [match.groups(), *islice(segment.iterate_ways(text), _MAX_WAYS)]
        texts.update(
            (name, list(dict.fromkeys(column)))
            for name, column in zip(segment.names, zip(*ways, strict=True), strict=True)
        )
    return texts


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment of a path template: `pattern` matches it, or its text is `literal`."""

    literal: str  # all of it, or what is before the first parameter
    pattern: re.Pattern[str] | None = None
    names: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()  # after each parameter

    def iterate_ways(self, text: str) -> Iterator[tuple[str, ...]]:
        """Yield the values that several parameters can have if the segment is `text`."""
        if len(self.names) > 1:
            yield from _iterate_ways(text.removeprefix(self.literal), self.literals)


def _iterate_ways(text: str, literals: Sequence[str]) -> Iterator[tuple[str, ...]]:
    literal, *others = literals
    if not others:
        if text.endswith(literal) and text != literal:
            yield (text.removesuffix(literal),)
        return
    for end in range(1, len(text)):
        if text.startswith(literal, end):
            for rest in _iterate_ways(text[end + len(literal) :], others):
                yield (text[:end], *rest)


@lru_cache(maxsize=4096)
def _split_template(template: str) -> list[_Segment]:
    """Return the text of each segment, or its pattern and the names of its parameters."""
    path = template.partition("#")[0].partition("?")[0]  # some documents have more than a path
    return [_parse_segment(segment) for segment in path.split("/")]


def _parse_segment(segment: str) -> _Segment:
    names = re.findall(r"\{([^{}]*)\}", segment)
    if not names:
        return _Segment(unquote(segment))
    first, *literals = re.split(r"\{[^{}]*\}", segment)
    # What precedes a dot may be a number or a name with dots: `{latitude}.{format}`.
    groups = ("(.+)" if literal[:1] == "." else "(.+?)" for literal in literals)
    ends = (group + re.escape(literal) for group, literal in zip(groups, literals, strict=True))
    pattern = re.compile(re.escape(first) + "".join(ends))
    return _Segment(first, pattern, tuple(names), tuple(literals))
