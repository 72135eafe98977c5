"""Decoding of JSON that a stranger wrote, and the way back from a pointer to its text.

Reading costs one pass of the C decoder. What a diagnostic needs beyond that (positions, both places
of a duplicate key) is found by looking at the text again, when a diagnostic asks.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.json_pointer import json_pointer, pointer_tokens
from mcpgen.ir.json_types import JsonValue
from mcpgen.spec.limits import Limits
from mcpgen.spec.source_text import SourceText

# An unclosed string reaches to the end, so that no text is looked at twice.
_STRING_PATTERN = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_STRING = re.compile(_STRING_PATTERN, re.DOTALL)
_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}
_STEPS = {ord(bracket): step for bracket, step in _STEP.items()}
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))
_TOKEN = re.compile(_STRING_PATTERN + r'|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
# The decoder's own parts, which typeshed leaves out: both take a text and an offset and give a
# value and the offset after it.
_READ_STRING: Callable[[str, int], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_READ_VALUE: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]
_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,:]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_SHOWN = 20


def read_json(source: SourceText, problems: Problems, limits: Limits) -> JsonValue:
    """Decode a JSON text (RFC 8259) whose depth, numbers and keys are within bounds.

    Raises:
        RejectedError: it is no JSON, too deep, has a key twice, or holds what JSON cannot say
            (NaN, a number beyond a double's range, half of a surrogate pair).
    """
    _refuse_depth(source, problems, limits)
    reading = _Reading(limits.max_number_digits)
    try:
        value = json.loads(
            source.text,
            object_pairs_hook=reading.make_object,
            parse_constant=reading.refuse_constant,
            parse_float=reading.make_float,
            parse_int=reading.make_int,
        )
    except json.JSONDecodeError as error:
        _report_syntax(source, error, problems)
        raise RejectedError from None
    except RecursionError:
        # Unclosed brackets inside what looks like a string can hide depth from the scan above.
        _report_depth(source, len(source.text), problems, limits)
        raise RejectedError from None
    if reading.odd_numbers:
        _report_numbers(source, reading.odd_numbers, problems)
    if reading.has_duplicates:
        _report_duplicates(source, problems)
    has_halves = "\\u" in source.text and _report_lone_surrogates(source, problems)
    if reading.odd_numbers or reading.has_conflicts or has_halves:
        raise RejectedError
    return value


class _Reading(Struct):
    """What the decoder's hooks notice; they are not told where they are."""

    max_digits: int
    has_duplicates: bool = False
    has_conflicts: bool = False  # duplicates that disagree
    odd_numbers: set[str] = field(default_factory=set)

    def make_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        self.has_duplicates = True
        made = {}
        for key, value in pairs:
            if made.get(key) is None:
                made[key] = value
            elif not have_one_meaning(made[key], value):
                self.has_conflicts = True
        return made

    def refuse_constant(self, name: str) -> None:
        self.odd_numbers.add(name)

    def make_float(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self.odd_numbers.add(digits)
        return number

    def make_int(self, digits: str) -> int:
        if len(digits) > self.max_digits:
            self.odd_numbers.add(digits)
            return 0
        return int(digits)


def _refuse_depth(source: SourceText, problems: Problems, limits: Limits) -> None:
    """Count brackets outside strings before the recursive decoder meets them."""
    text = source.text.encode().replace(rb"\\", b"").replace(rb"\"", b"")
    parts = text.translate(None, _NOT_STRUCTURE).split(b'"')  # outside and inside strings, in turn
    depths = itertools.accumulate(map(_STEPS.__getitem__, b"".join(parts[::2])))
    if max(depths, default=0) <= limits.max_depth:
        return
    depth = 0
    for found in _TOKEN.finditer(source.text):
        depth += _STEP.get(found[0], 0)
        if depth > limits.max_depth:
            _report_depth(source, found.start(), problems, limits)
            break
    raise RejectedError


def _report_depth(source: SourceText, offset: int, problems: Problems, limits: Limits) -> None:
    problems.error(
        "too-deep",
        f"objects and arrays are nested more than {limits.max_depth} deep",
        at=source.location(offset),
        why="reading, checking and generating all walk down the document",
        help="move the inner parts to `components` and refer to them with `$ref`",
    )


def _report_syntax(source: SourceText, error: json.JSONDecodeError, problems: Problems) -> None:
    rest = source.text[error.pos :].strip()
    expected = error.msg[:1].lower() + error.msg[1:]
    if error.msg.startswith("Unterminated string"):
        said, is_cut = "the text ends inside the string that begins here", True
    elif not rest:
        said, is_cut = f"the text ends early, {expected}", True
    else:
        said, is_cut = f"{expected}, found `{rest[0]}`", False
    problems.error(
        "json-syntax",
        f"not JSON: {said}",
        at=source.location(error.pos),
        why="nothing after this place can be read",
        help="the file may be cut off: fetch or export it again"
        if is_cut
        else "JSON has no comments, no trailing commas, and only double quotes",
    )


def _report_numbers(source: SourceText, odd: set[str], problems: Problems) -> None:
    places = (found for found in _TOKEN.finditer(source.text) if found[0] in odd)
    for found in itertools.islice(places, _MAX_SHOWN):
        number = found[0] if len(found[0]) <= 20 else f"{found[0][:12]}…"
        problems.error(
            "json-number",
            f"`{number}` is no number that JSON can carry",
            at=source.location(found.start(), width=len(found[0])),
            why="clients and upstream APIs would read something else, or nothing",
            help="write a finite number with fewer digits, or a string",
        )


class _Open(Struct):
    """A container that the walk over the text is inside of."""

    keys: dict[str, tuple[int, int]] | None  # to the places of key and value; None in an array
    place: str | int = ""  # the key or index that comes next; "" where a key is awaited


def _report_duplicates(source: SourceText, problems: Problems) -> None:
    """Walk the whole text once, for the places of all keys."""
    text = source.text
    stack: list[_Open] = []
    for found in _TOKEN.finditer(text):
        lexeme = found[0]
        if lexeme in "{[":
            stack.append(_Open({}) if lexeme == "{" else _Open(None, 0))
        elif lexeme in "}]":
            stack.pop()
        elif lexeme == ",":
            inner = stack[-1]
            inner.place = inner.place + 1 if isinstance(inner.place, int) else ""
        elif lexeme[0] == '"' and stack and stack[-1].place == "":
            inner, value_at = stack[-1], _BETWEEN.match(text, found.end()).end()  # type: ignore[union-attr]
            if inner.keys is None or ":" not in text[found.end() : value_at]:
                continue
            inner.place = key = _READ_STRING(text, found.start() + 1)[0]
            first = inner.keys.setdefault(key, (found.start(), value_at))
            if first[0] != found.start():
                report_repeated_key(
                    source.location(first[0]),
                    source.location(
                        found.start(), json_pointer(outer.place for outer in stack), len(lexeme)
                    ),
                    have_one_meaning(
                        _READ_VALUE(text, first[1])[0], _READ_VALUE(text, value_at)[0]
                    ),
                    problems,
                )


def have_one_meaning(first: JsonValue, second: JsonValue) -> bool:
    """Whether two values of a repeated key leave no doubt: they are equal, or one is null."""
    return first is None or second is None or bool(first == second)


def report_repeated_key(
    first: Location, second: Location, is_harmless: bool, problems: Problems
) -> None:
    """Report a key that stands twice in one object, naming both places."""
    key = pointer_tokens(second.pointer)[-1]
    message = (
        f"the key `{key}` stands twice in one object; "
        f"first in line {first.line}, column {first.column}"
    )
    if is_harmless:
        problems.warning(
            "duplicate-key",
            message,
            at=second,
            why="the two agree, or one is null, so there is one meaning; some readers refuse it",
            help="keep one of them",
        )
        return
    problems.error(
        "duplicate-key",
        message,
        at=second,
        why="readers disagree on which of the two counts",
        help="keep one of them",
    )


def _report_lone_surrogates(source: SourceText, problems: Problems) -> bool:
    shown = 0
    for found in _STRING.finditer(source.text):
        if "\\u" in found[0] and _SURROGATE.search(_READ_STRING(source.text, found.start() + 1)[0]):
            problems.error(
                "json-surrogate",
                "a string escapes half of a surrogate pair, which is no character",
                at=source.location(found.start(), width=len(found[0])),
                why="such a string cannot be written in any encoding",
                help="write both halves, or the character itself",
            )
            shown += 1
            if shown == _MAX_SHOWN:
                break
    return shown > 0


class JsonPositions:
    """Finds where a value stands in a JSON text that was read without a complaint.

    Each container on the way is scanned once and remembered, its members skipped by the C decoder.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._members: dict[int, dict[str, tuple[int, int]]] = {}

    def offset(self, tokens: tuple[str, ...]) -> tuple[int, int]:
        """Where the value at `tokens` stands, and its width: its key's if it is a container.

        A pointer that leads nowhere is answered with the last place on its way.
        """
        text = self._text
        at = mark = _SPACE.match(text).end()  # type: ignore[union-attr]
        for token in tokens:
            place = self._members_of(at).get(token)
            if place is None:
                break
            mark, at = place
        if text[at] in "{[":
            at = mark
        found = _TOKEN.match(text, at)
        return at, len(found[0]) if found else 1

    def _members_of(self, at: int) -> dict[str, tuple[int, int]]:
        """Key or index -> where the key (or item) and where the value begins."""
        if at not in self._members:
            kind = self._text[at]
            self._members[at] = dict(self._scan(at, kind == "{")) if kind in "{[" else {}
        return self._members[at]

    def _scan(self, at: int, is_object: bool) -> Iterator[tuple[str, tuple[int, int]]]:
        text = self._text
        end = at + 1
        for index in itertools.count():
            mark = value = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
            if text[mark] in "}]":
                return
            key = str(index)
            if is_object:
                key, end = _READ_STRING(text, mark + 1)
                value = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
            _, end = _READ_VALUE(text, value)
            yield key, (mark, value)
