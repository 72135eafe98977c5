"""Edit TOML by adding and removing whole tables; every other character stays as it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from mcpgen.factory.clients.texts import (
    ConfigSyntaxError,
    Edited,
    UneditableError,
    find_newline,
    find_value,
)
from mcpgen.jsonschema.types import JsonObject, JsonValue

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_PLACE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")
# What can contain a bracket or a line end without being structure, and the structure.
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)


class _Header(Struct, frozen=True):
    """The line of a table header: where it begins, and the keys of the table."""

    start: int
    keys: tuple[str, ...]


def read_toml(text: str) -> JsonObject:
    """Return the value of a text.

    Raises:
        ConfigSyntaxError: it is malformed.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        found = _PLACE.search(str(error))
        line, column = (int(found[1]), int(found[2])) if found else (0, 0)
        message = _PLACE.sub("", str(error)).strip()
        raise ConfigSyntaxError(message[:1].lower() + message[1:], line, column) from None


def insert_in_toml(text: str, keys: tuple[str, ...], name: str, entry: JsonObject) -> Edited:
    """Add the table `name` below the table to which `keys` lead, at the end of the text.

    Raises:
        ConfigSyntaxError: the text is malformed.
        UneditableError: the outer table is written inline, and a header cannot add to it.
    """
    before = read_toml(text)
    newline = find_newline(text)
    path = (*keys, name)
    lines = [f"[{'.'.join(map(_spell_key, path))}]"]
    lines += [f"{_spell_key(key)} = {_spell(value)}" for key, value in entry.items()]
    gap = newline if text and not text.endswith("\n") else ""
    blank = newline if text.strip() and not text.endswith(("\n\n", "\n\r\n")) else ""
    inserted = blank + newline.join(lines) + newline
    after = text + gap + inserted
    outer = find_value(before, keys)
    try:
        is_right = find_value(tomllib.loads(after), path) == entry
    except ValueError:
        is_right = False
    if not is_right or not (outer is None or isinstance(outer, dict)):
        raise UneditableError(f"`{'.'.join(keys)}` is written so that no table can be added to it")
    return Edited(after, inserted, gap=gap)


def remove_from_toml(text: str, keys: tuple[str, ...], name: str, inserted: str) -> str:
    """Remove the table `name` below the table to which `keys` lead, with its inner tables.

    `inserted` is the text with which it was inserted; a blank line before it is removed as well.

    Raises:
        ConfigSyntaxError: the text is malformed.
        UneditableError: there is no such table with a header of its own.
    """
    expected = read_toml(text)
    path = (*keys, name)
    outer = find_value(expected, keys)
    if not isinstance(outer, dict) or name not in outer:
        raise UneditableError(f"there is no `{'.'.join(path)}`")
    headers = [*_find_headers(text)]
    ends = [each.start for each in headers[1:]] + [len(text)]
    for header, end in reversed([*zip(headers, ends, strict=True)]):
        if header.keys[: len(path)] == path:
            last = header.start + len(_strip_end(text[header.start : end]))
            start = header.start
            if inserted.startswith(("\n", "\r\n")) and text[:start].endswith(("\n\n", "\n\r\n")):
                start = len(text[:start].removesuffix("\n").removesuffix("\r"))
            text = text[:start] + text[last:]
    del outer[name]
    _drop_empty(expected, keys)
    after = read_toml(text)
    _drop_empty(after, keys)
    if after != expected:
        raise UneditableError(f"`{'.'.join(path)}` is not a table of its own")
    return text


def _drop_empty(root: JsonObject, keys: tuple[str, ...]) -> None:
    """Remove outer tables that are empty: they exist only by the headers of inner tables."""
    for depth in range(len(keys), 0, -1):
        holder = find_value(root, keys[: depth - 1])
        if isinstance(holder, dict) and holder.get(keys[depth - 1]) == {}:
            del holder[keys[depth - 1]]


def _strip_end(block: str) -> str:
    """Return a table without the blank and comment lines at its end, which belong to the next."""
    lines = block.splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return "".join(lines)


def _find_headers(text: str) -> Iterator[_Header]:
    depth, line_start = 0, 0
    for found in _TOKEN.finditer(text):
        lexeme = found[0]
        if lexeme == "\n":
            line_start = found.end()
        elif lexeme == "[" and depth == 0 and not text[line_start : found.start()].strip():
            yield _Header(line_start, _read_header(text, line_start))
            depth += 1
        elif lexeme in "[{":
            depth += 1
        elif lexeme in "]}":
            depth -= 1


def _read_header(text: str, start: int) -> tuple[str, ...]:
    end = text.find("\n", start)
    value: Any = tomllib.loads(text[start : end if end >= 0 else len(text)])
    keys = []
    while isinstance(value, dict | list) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        key = next(iter(value))
        keys.append(key)
        value = value[key]
    return tuple(keys)


def _spell_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _spell(key)


def _spell(value: JsonValue) -> str:
    import tomlkit

    if isinstance(value, dict):
        inner = ", ".join(f"{_spell_key(key)} = {_spell(each)}" for key, each in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return tomlkit.item(value).as_string()
