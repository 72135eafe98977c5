"""Readings of serialized parameters by `style`, and the conversion of texts by their schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote

from mcpgen.jsonschema.schemas import Schemas, UnusableSchemaError
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.testing.mock.description import Parameter

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape] | None"
"""A value with a known structure whose scalars are still texts; None is an explicit null."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """The possible values of a parameter or body, likeliest first.

    Text on the wire does not distinguish "7" from the number, or an item from a list of one. If the
    schema does not either, there are several values. `problem` says why none is valid.
    """

    values: tuple[JsonValue, ...]
    problem: str = ""

    @property
    def value(self) -> JsonValue:
        """The likeliest value."""
        return self.values[0]


def read_shapes(shapes: Iterable[Shape], schema: JsonSchema, schemas: Schemas) -> Reading:
    """Return the valid values of these shapes; all of them if none is valid."""
    found = list(shapes)
    candidates: list[JsonValue] = []
    try:
        types = schemas.types(schema)
        for shape in [shape for shape in found if _may_be(shape, types)] or found:
            for wants_text in (False, True):
                value = _convert(shape, schema, schemas, wants_text)
                if not any(_is_same(value, other) for other in candidates):
                    candidates.append(value)
        if "null" in found and "null" in types and None not in candidates:
            candidates.append(None)  # last: a text is likelier, if it is valid
        return read_values(candidates, schema, schemas)
    except UnusableSchemaError as error:
        return Reading(tuple(candidates) or (None,), str(error))


def read_values(values: list[JsonValue], schema: JsonSchema, schemas: Schemas) -> Reading:
    """Return the valid values; all of them, with the first problem, if none is valid."""
    try:
        valid = [value for value in values if schemas.fits(schema, value)]
        return Reading(tuple(valid or values), "" if valid else schemas.problem(schema, values[0]))
    except UnusableSchemaError as error:
        return Reading(tuple(values), str(error))


def _may_be(shape: Shape, types: frozenset[str]) -> bool:
    if isinstance(shape, str):
        return bool(types - {"array", "object"})
    if isinstance(shape, list):
        return "array" in types
    if shape is None:
        return "null" in types
    return "object" in types or ("array" in types and all(key.isdigit() for key in shape))


def _is_same(one: JsonValue, other: JsonValue) -> bool:
    return type(one) is type(other) and bool(one == other)


def _convert(shape: Shape, schema: JsonSchema, schemas: Schemas, wants_text: bool) -> JsonValue:
    if shape is None:
        return None
    if isinstance(shape, str):
        return _convert_scalar(shape, schema, schemas, wants_text)
    if isinstance(shape, dict) and _has_indices(shape, schema, schemas):
        shape = [shape[key] for key in sorted(shape, key=int)]
    if isinstance(shape, list):
        item = schemas.item_schema(schema)
        return [_convert(part, item, schemas, wants_text) for part in shape]
    return {
        name: _convert(part, schemas.property_schema(schema, name), schemas, wants_text)
        for name, part in shape.items()
    }


def _has_indices(shape: dict[str, Shape], schema: JsonSchema, schemas: Schemas) -> bool:
    """Return whether `a[0]=x&a[1]=y` is a list: if the schema allows lists and no objects."""
    types = schemas.types(schema)
    are_indices = bool(shape) and all(key.isascii() and key.isdigit() for key in shape)
    return are_indices and "array" in types and "object" not in types


def _convert_scalar(text: str, schema: JsonSchema, schemas: Schemas, wants_text: bool) -> JsonValue:
    types = schemas.types(schema)
    if wants_text and "string" in types:
        return text
    if "boolean" in types and text in {"true", "false"}:
        return text == "true"
    if "null" in types and text == "null" and "string" not in types - {"null"}:
        return None
    if "integer" in types and _INTEGER.match(text):
        return _parse_integer(text)
    if "number" in types and _NUMBER.match(text):
        return float(text)
    inside = _parse_nested_json(text) if types & {"array", "object"} else None
    if inside is not None:
        return inside
    if "array" in types and "string" not in types:  # a list with one item
        return [_convert(text, schemas.item_schema(schema), schemas, wants_text)]
    return text


def _parse_integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text  # longer than Python's limit


def _parse_nested_json(text: str) -> list[JsonValue] | dict[str, JsonValue] | None:
    """Return the list or object in a text, for values nested deeper than a style supports."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, list | dict) else None


def unescape(text: str, *, plus: bool = False) -> str:
    """Undo percent-encoding; with `plus`, "+" is a space. Invalid UTF-8 is escaped."""
    return unquote(text.replace("+", " ") if plus else text, errors="backslashreplace")


class Pairs:
    """The pairs that have not been taken yet, in order. Values are raw."""

    def __init__(self, text: str, *, plus_is_space: bool = True) -> None:
        self.plus_is_space = plus_is_space
        split = (pair.partition("=") for pair in text.split("&") if pair)
        self._left = [(unescape(name, plus=plus_is_space), value) for name, _, value in split]

    def list_names(self) -> list[str]:
        """Return the names of the remaining pairs, without duplicates."""
        return list(dict.fromkeys(name for name, _ in self._left))

    def take(self, name: str) -> list[str]:
        """Take every pair of this name; return their raw values."""
        taken = [value for key, value in self._left if key == name]
        self._left = [pair for pair in self._left if pair[0] != name]
        return taken

    def take_pair(self, name: str, value: str) -> bool:
        """Take one pair with this name and decoded value; return whether there was one."""
        for pair in self._left:
            if pair[0] == name and unescape(pair[1], plus=self.plus_is_space) == value:
                self._left.remove(pair)
                return True
        return False

    def take_tree(self, name: str) -> Shape | None:
        """Take `name[a]=1`, `name[b][c]=2`, ... as nested maps; None without such pairs.

        Repeated pairs, and those ending in `[]`, are lists. `name=1` is included: a scalar in style
        `deepObject`.
        """
        root: dict[str, Shape] = {}
        left = []
        for key, value in self._left:
            steps = _split_brackets(name, key)
            if steps is None:
                left.append((key, value))
            else:
                _insert(root, ["", *steps], unescape(value, plus=self.plus_is_space))
        self._left = left
        return root.get("")


def _split_brackets(name: str, key: str) -> list[str] | None:
    """Return the names in brackets after `name`: "a[b][]" has ["b", ""]; None for other keys."""
    if key == name:
        return []
    if not key.startswith(f"{name}["):
        return None
    brackets = key[len(name) :]
    if not re.fullmatch(r"(\[[^\[\]]*\])+", brackets):
        return None
    return re.findall(r"\[([^\[\]]*)\]", brackets)


def _insert(tree: dict[str, Shape], steps: list[str], text: str) -> None:
    """Insert a text at a path; a second text at the same path makes a list."""
    is_list = len(steps) > 1 and not steps[-1]
    if is_list:
        steps = steps[:-1]
    for step in steps[:-1]:
        inner = tree.setdefault(step, {})
        if not isinstance(inner, dict):
            inner = tree[step] = {"": inner}
        tree = inner
    last = steps[-1]
    already = tree.get(last)
    if already is None:
        tree[last] = [text] if is_list else text
    elif isinstance(already, list):
        already.append(text)
    elif isinstance(already, str):
        tree[last] = [already, text]
    else:
        already[""] = text


def path_shapes(parameter: Parameter, text: str) -> Iterator[Shape]:
    """Yield the possible shapes of a path parameter; nothing if it is in another style."""
    if parameter.style == "label":
        if text.startswith("."):
            for separator in "." if parameter.explode else ",.":
                yield from simple_shapes(text[1:], parameter.explode, unescape, separator)
    elif parameter.style == "matrix":
        if text.startswith(";"):
            yield from _read_matrix(text[1:], parameter)
    elif parameter.style in _SEPARATORS:
        yield from _split_text(text, _SEPARATORS[parameter.style], unescape)
    else:
        yield from simple_shapes(text, parameter.explode, unescape)


def header_shapes(parameter: Parameter, text: str) -> Iterator[Shape]:
    """Yield the possible shapes of a header, which is not encoded."""
    separator = _SEPARATORS.get(parameter.style, ",")
    yield from simple_shapes(text, parameter.explode, str.strip, separator)


def simple_shapes(
    text: str, explode: bool, decode: Callable[[str], str], separator: str = ","
) -> Iterator[Shape]:
    """Yield the possible shapes of a text in style `simple`: a scalar, a list, or an object."""
    yield decode(text)
    items = text.split(separator) if text else []
    yield [decode(item) for item in items]
    if not text:
        yield [""]
    if explode:
        if all("=" in item for item in items):
            members = [item.partition("=") for item in items]
            yield {decode(name): decode(value) for name, _, value in members}
    elif len(items) % 2 == 0:
        yield {decode(items[at]): decode(items[at + 1]) for at in range(0, len(items), 2)}


def _read_matrix(text: str, parameter: Parameter) -> Iterator[Shape]:
    pairs = [item.partition("=") for item in text.split(";")]
    named = [value for name, _, value in pairs if unescape(name) == parameter.name]
    if len(named) == len(pairs):
        if len(named) == 1 and not parameter.explode:
            yield from simple_shapes(named[0], False, unescape)
        elif len(named) == 1:
            yield unescape(named[0])
        if parameter.explode:
            yield [unescape(value) for value in named]
    if parameter.explode:
        yield {unescape(name): unescape(value) for name, _, value in pairs}


def query_shapes(
    parameter: Parameter,
    pairs: Pairs,
    schemas: Schemas,
    *,
    claimed: frozenset[str] = frozenset(),
) -> Iterator[Shape]:
    """Take a parameter's pairs and yield their possible shapes; nothing without pairs.

    `claimed` are the names that other exploded objects declare: an open object does not take them.
    """
    decode = _choose_decoder(parameter, pairs.plus_is_space)
    types = schemas.likely_types(parameter.schema)
    if parameter.style == "deepObject":
        tree = pairs.take_tree(parameter.name)
        if tree is not None:
            yield tree
        return
    texts = pairs.take(parameter.name)
    if texts:
        yield from _read_named_shapes(parameter, texts, decode)
    elif parameter.explode and "object" in types:
        spread = _take_members(parameter, pairs, schemas, decode, claimed)
        if spread:
            yield spread


def _choose_decoder(parameter: Parameter, plus_is_space: bool) -> Callable[[str], str]:
    if parameter.style == "cookie":
        return str
    plus = plus_is_space and not parameter.allow_reserved
    return lambda text: unescape(text, plus=plus)


def _read_named_shapes(
    parameter: Parameter, texts: list[str], decode: Callable[[str], str]
) -> Iterator[Shape]:
    if parameter.explode:
        if len(texts) == 1:
            yield decode(texts[0])
        yield [decode(text) for text in texts]
        return
    if len(texts) > 1:
        return
    separator = _SEPARATORS.get(parameter.style, ",")
    yield from _split_text(texts[0], separator, decode)


_SEPARATORS = {"spaceDelimited": " ", "tabDelimited": "\t", "pipeDelimited": "|"}


def _split_text(text: str, separator: str, decode: Callable[[str], str]) -> Iterator[Shape]:
    """Split at raw separators, else at encoded ones; a single item may contain one."""
    yield decode(text)
    spellings = {",": r",", "|": r"\||%7[Cc]", " ": r"\+|%20", "\t": r"%09"}
    items = re.split(spellings[separator], text) if text else []
    splits = [items]
    if separator == "," and len(items) == 1:
        splits.append(re.split(r"%2[Cc]", text))
    for split in splits:
        decoded = [decode(item) for item in split]
        yield list(decoded)
        if not text:
            yield [""]
        if decoded and len(decoded) % 2 == 0:
            yield {decoded[at]: decoded[at + 1] for at in range(0, len(decoded), 2)}


def _take_members(
    parameter: Parameter,
    pairs: Pairs,
    schemas: Schemas,
    decode: Callable[[str], str],
    claimed: frozenset[str],
) -> dict[str, Shape]:
    """Take the members of an exploded object, which have pairs of their own."""
    declared = schemas.property_names(parameter.schema)
    takes_any = schemas.property_schema(parameter.schema, "\0") is not False
    names = [
        name
        for name in pairs.list_names()
        if name in declared or (takes_any and name not in claimed)
    ]
    found: dict[str, Shape] = {}
    for name in names:
        texts: list[Shape] = [decode(text) for text in pairs.take(name)]
        found[name] = texts[0] if len(texts) == 1 else texts
    return found
