"""Decoding of untrusted JSON with limits, and the text position of each value.

Decoding is one pass of Python's C decoder. Positions are computed by scanning the text again, only
if a diagnostic needs them.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.source.source_text import Limits, SourceText
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

# An unclosed string extends to the end, so that the scan is linear.
_STRING_PATTERN = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_STRING = re.compile(_STRING_PATTERN, re.DOTALL)
_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}
_STEPS = {ord(bracket): step for bracket, step in _STEP.items()}
_ESCAPED = re.compile(rb'\\["\\]')
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}:"'))
_TOKEN = re.compile(_STRING_PATTERN + r'|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
# Functions of the decoder that typeshed omits: both take a text and an offset and return a value
# and the offset after it.
_READ_STRING: Callable[[str, int], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_READ_VALUE: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]
# Builds no objects: those of a large container take as much memory as the document.
_SKIP_VALUE: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(
    strict=False, object_pairs_hook=len
).scan_once  # type: ignore[attr-defined]
_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,:]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_SHOWN = 20


def read_json(source: SourceText, problems: Problems, limits: Limits) -> JsonValue:
    """Decode a JSON text (RFC 8259) within the limits.

    Raises:
        RejectedError: it is not JSON, is nested too deeply, has conflicting duplicate keys, or
            contains NaN, a number beyond the range of a double, or half of a surrogate pair.
    """
    written = _check_depth(source, problems, limits)
    reading = _Reading(limits.max_number_digits)
    decode = functools.partial(
        json.loads,
        parse_constant=reading.refuse_constant,
        parse_float=reading.make_float,
        parse_int=reading.make_int,
    )
    try:
        value = decode(source.text, object_hook=reading.count_members)
        if reading.members != written:  # some keys of an object are equal
            value = decode(source.text, object_pairs_hook=reading.make_object)
    except json.JSONDecodeError as error:
        _report_syntax(source, error, problems)
        raise RejectedError from None
    except RecursionError:
        # Unclosed quotes can hide brackets from the depth check above.
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
    """Hooks of the decoder, and the faults that they found, without positions."""

    max_digits: int
    members: int = 0  # of all objects
    has_duplicates: bool = False
    has_conflicts: bool = False  # duplicates with different values
    odd_numbers: set[str] = field(default_factory=set)

    def count_members(self, made: dict[str, Any]) -> dict[str, Any]:
        self.members += len(made)
        return made

    def make_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        self.has_duplicates = True
        made = {}
        for key, value in pairs:
            if made.get(key) is None:
                made[key] = value
            elif not is_unambiguous(made[key], value):
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


def _check_depth(source: SourceText, problems: Problems, limits: Limits) -> int:
    """Count the brackets outside strings before the recursive decoder runs.

    Returns:
        The number of members of all objects in the text, repeated ones included.

    Raises:
        RejectedError: they are nested too deeply.
    """
    text = _ESCAPED.sub(b"", source.encode())
    # Most strings have no bracket; two quotes less change for no other whether it is in a string.
    structure = text.translate(None, _NOT_STRUCTURE).replace(b'""', b"")
    parts = structure.split(b'"')  # outside and inside strings, in turn
    outside = b"".join(parts[::2])
    depths = itertools.accumulate(map(_STEPS.__getitem__, outside.translate(None, b":")))
    if max(depths, default=0) <= limits.max_depth:
        return outside.count(b":")
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
        f"objects and arrays are nested more than {limits.max_depth} levels deep",
        at=source.location(offset),
        why="each stage traverses the document recursively",
        help="move the inner parts to `components` and refer to them with `$ref`",
    )


def _report_syntax(source: SourceText, error: json.JSONDecodeError, problems: Problems) -> None:
    rest = source.text[error.pos :].strip()
    expected = error.msg[:1].lower() + error.msg[1:]
    if error.msg.startswith("Unterminated string"):
        message, is_cut = "unterminated string", True
    elif not rest:
        message, is_cut = f"unexpected end of file, {expected}", True
    else:
        message, is_cut = f"{expected}, found `{rest[0]}`", False
    problems.error(
        "json-syntax",
        f"invalid JSON: {message}",
        at=source.location(error.pos),
        why="the document cannot be read beyond this place",
        help="the file may be truncated: download or export it again"
        if is_cut
        else "JSON has no comments, no trailing commas, and only double quotes",
    )


def _report_numbers(source: SourceText, odd: set[str], problems: Problems) -> None:
    places = (found for found in _TOKEN.finditer(source.text) if found[0] in odd)
    for found in itertools.islice(places, _MAX_SHOWN):
        number = found[0] if len(found[0]) <= 20 else f"{found[0][:12]}…"
        problems.error(
            "json-number",
            f"invalid JSON number `{number}`",
            at=source.location(found.start(), width=len(found[0])),
            why="clients and APIs would read another value, or reject it",
            help="write a finite number with fewer digits, or a string",
        )


class _Open(Struct):
    """An object or array that the scan of the text has entered."""

    keys: dict[str, tuple[int, int]] | None  # key -> offsets of key and value; None in an array
    place: str | int = ""  # the current key or index; "" if a key is expected


def _report_duplicates(source: SourceText, problems: Problems) -> None:
    """Scan the whole text for duplicate keys and report both places."""
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
                    is_unambiguous(_READ_VALUE(text, first[1])[0], _READ_VALUE(text, value_at)[0]),
                    problems,
                )


def is_unambiguous(first: JsonValue, second: JsonValue) -> bool:
    """Return whether two values of a duplicate key are equal, or one of them is null."""
    return first is None or second is None or bool(first == second)


def report_repeated_key(
    first: Location, second: Location, is_harmless: bool, problems: Problems
) -> None:
    """Report a duplicate key of an object with both places."""
    key = pointer_tokens(second.pointer)[-1]
    message = f"duplicate key `{key}`; first occurrence in line {first.line}, column {first.column}"
    report = problems.warning if is_harmless else problems.error
    report(
        "duplicate-key",
        message,
        at=second,
        why="both have the same value, or one is null; some parsers reject the document"
        if is_harmless
        else "parsers disagree on which of the two values is used",
        help="remove one of them",
    )


def _report_lone_surrogates(source: SourceText, problems: Problems) -> bool:
    shown = 0
    for found in _STRING.finditer(source.text):
        if "\\u" in found[0] and _SURROGATE.search(_READ_STRING(source.text, found.start() + 1)[0]):
            problems.error(
                "json-surrogate",
                "invalid string: it escapes half of a surrogate pair",
                at=source.location(found.start(), width=len(found[0])),
                why="no encoding can represent such a string",
                help="write both halves, or the character itself",
            )
            shown += 1
            if shown == _MAX_SHOWN:
                break
    return shown > 0


class JsonPositions:
    """Text positions of the values in a valid JSON text.

    A container on the path is scanned once, as far as the searched member; the C decoder skips the
    members before it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._containers: dict[int, _Scanned] = {}

    def offset(self, tokens: tuple[str, ...]) -> tuple[int, int]:
        """Return offset and width of the value at `tokens`; for a container, those of its key.

        If the value does not exist, they are those of its nearest existing parent.
        """
        text = self._text
        at = mark = _SPACE.match(text).end()  # type: ignore[union-attr]
        for token in tokens:
            place = self._find_member(at, token)
            if place is None:
                break
            mark, at = place
        if text[at] in "{[":
            at = mark
        found = _TOKEN.match(text, at)
        return at, len(found[0]) if found else 1

    def _find_member(self, at: int, token: str) -> tuple[int, int] | None:
        """Return the offsets of the key (or item) and of the value of a member of a container."""
        if at not in self._containers:
            self._containers[at] = _Scanned(_scan(self._text, at))
        scanned = self._containers[at]
        if token not in scanned.members:
            for key, place in scanned.rest:
                scanned.members[key] = place
                if key == token:
                    break
        return scanned.members.get(token)


class _Scanned(Struct):
    """The members of a container up to the last one that was searched, and the others."""

    rest: Iterator[tuple[str, tuple[int, int]]]
    members: dict[str, tuple[int, int]] = field(default_factory=dict)


def _scan(text: str, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield key or index of each member, with the offsets of its key (or item) and its value."""
    if text[at] not in "{[":
        return
    is_object = text[at] == "{"
    end = at + 1
    for index in itertools.count():
        mark = value = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
        if text[mark] in "}]":
            return
        key = str(index)
        if is_object:
            key, end = _READ_STRING(text, mark + 1)
            value = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
        _, end = _SKIP_VALUE(text, value)
        yield key, (mark, value)
