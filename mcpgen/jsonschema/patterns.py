"""Texts that match a simple regular expression (ECMA-262, as JSON Schema's `pattern` uses it).

Supported: literals, escapes, classes, groups, alternatives, quantifiers and anchors at the ends.
Look-around, back references and Unicode properties are rejected; callers check the text against the
real expression anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

MAX_REPETITIONS = 4096
MAX_PATTERN = 2000
MAX_GROUPS = 50
_MAX_BRANCHES = 50  # of one choice; of the others no text is made

_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = _LETTERS + _LETTERS.upper() + _DIGITS + "_"
_PRINTABLE = _LETTERS + _LETTERS.upper() + _DIGITS + "-_.~!*'(),;:@&=+$/?#[]%<>{}|^`\"\\ "
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": " "}
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


class TooHardError(ValueError):
    """The expression uses an unsupported construct."""


class _OneOf(Struct, frozen=True):
    """One character out of several, the plainest first."""

    characters: str


class _Repeated(Struct, frozen=True):
    node: _Node
    least: int
    most: int | None


class _Sequence(Struct, frozen=True):
    nodes: tuple[_Node, ...]


class _Choice(Struct, frozen=True):
    branches: tuple[_Node, ...]


_Node: TypeAlias = _OneOf | _Repeated | _Sequence | _Choice


def iterate_matching_texts(pattern: str, *, longest: int = 256) -> Iterator[str]:
    """Yield texts that match `pattern`, from short to long, at most about `longest` characters.

    Several are needed if length bounds apply as well; the caller selects one.

    Raises:
        TooHardError: the expression uses an unsupported construct.
    """
    if len(pattern) > MAX_PATTERN or pattern.count("(") > MAX_GROUPS:
        raise TooHardError("it is too long")
    tree = _parse(pattern)
    if _measure_shortest(tree) > longest:
        return
    shown = set()
    extra = 0
    branches = [*range(min(_count_branches(tree), _MAX_BRANCHES))]
    while extra <= longest and branches:
        for branch in [*branches]:
            text = _spell(tree, extra, branch, longest + 1)
            if len(text) > longest:
                branches.remove(branch)  # with more repetitions it is longer still
            elif text not in shown:
                shown.add(text)
                yield text
        extra = extra + 1 if extra < 64 else extra * 2


@lru_cache(maxsize=64)
def _parse(pattern: str) -> _Node:
    return _Parser(pattern).parse()


def _measure_shortest(node: _Node) -> int:
    """Return the fewest characters of a text that matches."""
    if isinstance(node, _Choice):
        return min(map(_measure_shortest, node.branches))
    if isinstance(node, _Repeated):
        return node.least * _measure_shortest(node.node)
    if isinstance(node, _Sequence):
        return sum(map(_measure_shortest, node.nodes))
    return 1


def _count_branches(node: _Node) -> int:
    if isinstance(node, _Choice):
        return max(len(node.branches), *map(_count_branches, node.branches))
    if isinstance(node, _Repeated):
        return _count_branches(node.node)
    if isinstance(node, _Sequence):
        return max(map(_count_branches, node.nodes), default=1)
    return 1


def _spell(node: _Node, extra: int, branch: int, longest: int) -> str:
    """Return a text for `node`, with `extra` more repetitions and the `branch`th of choices."""
    if isinstance(node, _OneOf):
        return node.characters[extra % len(node.characters)]
    if isinstance(node, _Choice):
        return _spell(node.branches[branch % len(node.branches)], extra, branch, longest)
    if isinstance(node, _Sequence):
        return "".join(_spell(child, extra, branch, longest) for child in node.nodes)
    times = node.least + extra if node.most is None else min(node.least + extra, node.most)
    once = _spell(node.node, 0, branch, longest)
    most = 1 if len(once) > longest else longest
    return once * min(times, most)


class _Parser:
    """Parser of one expression; every method leaves `position` after the parsed part."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0

    def parse(self) -> _Node:
        node = self._parse_choice()
        if self.position < len(self.pattern):
            raise TooHardError(f"unexpected `{self._peek()}`")
        return node

    def _peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def _take(self) -> str:
        character = self._peek()
        if not character:
            raise TooHardError("the expression ends early")
        self.position += 1
        return character

    def _skip(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.position):
            return False
        self.position += len(text)
        return True

    def _parse_choice(self) -> _Node:
        branches = [self._parse_sequence()]
        while self._skip("|"):
            branches.append(self._parse_sequence())
        return branches[0] if len(branches) == 1 else _Choice(tuple(branches))

    def _parse_sequence(self) -> _Node:
        nodes: list[_Node] = []
        while self._peek() not in {"", "|", ")"}:
            if self._skip("^") or self._skip("$"):
                continue
            nodes.append(self._parse_quantifier(self._parse_atom()))
        return _Sequence(tuple(nodes))

    def _parse_atom(self) -> _Node:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            # Control characters last: XML and headers cannot have them.
            return _OneOf("".join(sorted(self._parse_class(), key=_is_control)))
        if character == ".":
            return _OneOf(_LETTERS)
        if character == "\\":
            return _OneOf(self._escape())
        if character in "*+?":
            raise TooHardError(f"`{character}` repeats nothing")
        return _OneOf(character)

    def _group(self) -> _Node:
        if self._skip("?") and not self._skip(":"):
            if not self._skip("<") or self._peek() in {"=", "!"}:
                raise TooHardError("it looks ahead or behind")
            self.position = self.pattern.index(">", self.position) + 1
        node = self._parse_choice()
        if not self._skip(")"):
            raise TooHardError("a group has no end")
        return node

    def _escape(self) -> str:
        """Return the characters that an escape matches, after its backslash."""
        character = self._take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character.lower() in _CLASSES:
            return _without(_CLASSES[character.lower()])
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in {"x", "u"}:
            return self._parse_code_point(2 if character == "x" else 4)
        if character.isalnum():
            raise TooHardError(f"`\\{character}` is not understood")
        return character

    def _parse_code_point(self, digits: int) -> str:
        code = self.pattern[self.position : self.position + digits]
        self.position += digits
        try:
            return chr(int(code, 16))
        except ValueError:
            raise TooHardError(f"`{code}` is no code point") from None

    def _parse_class(self) -> str:
        """Return the characters of a class, after its opening bracket."""
        is_negated = self._skip("^")
        found = ""
        while not self._skip("]"):
            first = self._parse_class_member()
            if (
                len(first) == 1
                and not self.pattern.startswith("-]", self.position)
                and self._skip("-")
            ):
                first = _list_range(first, self._parse_class_member())
            found += first
        found = _without(found) if is_negated else found
        if not found:
            raise TooHardError("a class matches nothing")
        return found

    def _parse_class_member(self) -> str:
        character = self._take()
        return self._escape() if character == "\\" else character

    def _parse_quantifier(self, node: _Node) -> _Node:
        character = self._peek()
        if not character or character not in "*+?{":
            return node
        self._take()
        least, most = _COUNTS.get(character) or self._parse_counts()
        self._skip("?")  # lazy or greedy, the same texts match
        return _Repeated(node, least, most)

    def _parse_counts(self) -> tuple[int, int | None]:
        inside, bracket, _ = self.pattern[self.position :].partition("}")
        least, comma, most = inside.partition(",")
        if not bracket or not least.isdigit() or (most and not most.isdigit()):
            raise TooHardError("a quantifier is not understood")
        if int(least) > MAX_REPETITIONS:
            raise TooHardError(f"it repeats {least} times")
        self.position += len(inside) + 1
        if not comma:
            return int(least), int(least)
        return int(least), int(most) if most else None


def _is_control(character: str) -> bool:
    return character < " " or character == "\x7f"


def _list_range(first: str, last: str) -> str:
    if len(last) != 1 or last < first:
        raise TooHardError(f"`{first}-{last}` is no range")
    end = min(ord(last), ord(first) + 255)  # enough to choose from
    return "".join(map(chr, range(ord(first), end + 1)))


def _without(characters: str) -> str:
    return "".join(character for character in _PRINTABLE if character not in characters)
