"""Random changes of bytes, text and JSON values."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

# Characters and words at which parsers, encoders and templates have failed before.
HOSTILE_TEXTS = (
    '"', "'", '"""', "\\", "\\u0000", "\\ud800", "\n", "\r", "\r\n", "\x00", "\x1b[31m", "\x85",
    "\u2028", "\u2029", "\u202e", "\u200b", "\U000e0041", "\U0001f600", "é", "ﬁ", "`", "|",
    "{{7*7}}", "{% raw %}", "{#", "${HOME}", "$(id)", "%s", "%00", "%", "{0}", "#", "//", "*/",
    "-->",     "]]>", "<!--",
    "../../etc/passwd", "..", ".", "/", "~0", "~1", "class", "None", "__import__('os')",
    "import os", "!!python/object", "&a *a", "- ", ": ", "? ", "data:", "NaN", "Infinity", "-0",
    "1e999", "9" * 400, "0x7f000001", "=?utf-8?B?", "; charset=punycode", "\ufeff", "a" * 3000,
)  # fmt: skip
_NUMBERS = (0, -1, 1, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, 0.5, 1e300, -0.0)
_BYTES = (
    b"\x00",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\r\n",
    b"\n\n",
    b" ",
)


def hostile_text(chance: random.Random) -> str:
    """Return a text of a few hostile words and random characters."""
    words = [chance.choice(HOSTILE_TEXTS) for _ in range(chance.randrange(1, 4))]
    if chance.random() < 0.3:
        words.append(chr(chance.choice([chance.randrange(0x80), chance.randrange(0xD800)])))
    return "".join(words)


def json_scalar(chance: random.Random) -> Any:
    """Return an unusual string, number, boolean or null."""
    kind = chance.randrange(4)
    if kind == 0:
        return chance.choice(_NUMBERS)
    return chance.choice([None, True, False, "", [], {}]) if kind == 1 else hostile_text(chance)


def mutate_bytes(data: bytes, chance: random.Random) -> bytes:
    """Change data in one to four places."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        chance.choice(_BYTE_CHANGES)(changed, chance)
    return bytes(changed)


def _flip(data: bytearray, chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _replace(data: bytearray, chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def _insert(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    word = chance.choice(_BYTES) if chance.random() < 0.3 else hostile_text(chance).encode()
    data[at:at] = word


def _remove(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.choice([1, 2, 8, 64])]


def _repeat(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    piece = data[at : at + chance.choice([1, 4, 32])]
    data[at:at] = piece * chance.choice([2, 3, 200])


def _truncate(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _swap(data: bytearray, chance: random.Random) -> None:
    if len(data) > 1:
        first, second = (chance.randrange(len(data)) for _ in range(2))
        data[first], data[second] = data[second], data[first]


_BYTE_CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _replace, _insert, _insert, _remove, _repeat, _truncate, _swap,
)  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every member of every object and array, as its container and its key."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        node = pending.pop()
        keys = (
            node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        )
        for key in keys:
            found.append((node, key))
            pending.append(node[key])
    return found


def mutate_json(value: Any, chance: random.Random) -> Any:
    """Change a copy of a JSON value in one to three places."""
    changed = json.loads(json.dumps(value))
    for _ in range(chance.randrange(1, 4)):
        every = places(changed)
        if not every:
            return json_scalar(chance)
        container, key = chance.choice(every)
        chance.choice(_JSON_CHANGES)(container, key, every, chance)
    return changed


def _set_scalar(
    container: Any, key: Any, every: list[tuple[Any, Any]], chance: random.Random
) -> None:
    container[key] = json_scalar(chance)


def _extend_text(
    container: Any, key: Any, every: list[tuple[Any, Any]], chance: random.Random
) -> None:
    if isinstance(container[key], str):
        container[key] += hostile_text(chance)


def _rename(container: Any, key: Any, every: list[tuple[Any, Any]], chance: random.Random) -> None:
    if isinstance(container, dict):
        name = key + hostile_text(chance) if chance.random() < 0.5 else hostile_text(chance)
        container[name] = container.pop(key)


def _drop(container: Any, key: Any, every: list[tuple[Any, Any]], chance: random.Random) -> None:
    del container[key]


def _copy_from_elsewhere(
    container: Any, key: Any, every: list[tuple[Any, Any]], chance: random.Random
) -> None:
    other, other_key = chance.choice(every)
    if isinstance(other, dict) and other_key in other:
        copied = json.dumps(other[other_key])
        if len(copied) < 20_000:
            container[key] = json.loads(copied)


def _wrap(container: Any, key: Any, every: list[tuple[Any, Any]], chance: random.Random) -> None:
    inner = container[key]
    container[key] = chance.choice(
        [[inner], {"allOf": [inner, inner]}, {"anyOf": [inner]}, {"not": inner}, {"items": inner},
         {"a": inner}, [inner] * 20]
    )  # fmt: skip


_JSON_CHANGES: tuple[Callable[[Any, Any, list[tuple[Any, Any]], random.Random], None], ...] = (
    _set_scalar, _set_scalar, _extend_text, _rename, _drop, _copy_from_elsewhere, _wrap,
)  # fmt: skip
