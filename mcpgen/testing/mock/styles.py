"""Readings of a serialized parameter for each `style`, before the types are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mcpgen.jsonschema.schemas import Schemas
from mcpgen.testing.mock.description import Parameter
from mcpgen.testing.mock.pairs import Pairs, unescape
from mcpgen.testing.mock.typed import Shape


def path_shapes(parameter: Parameter, text: str) -> Iterator[Shape]:
    """Yield the possible shapes of a path parameter; nothing if it is in another style."""
    if parameter.style == "label":
        if text.startswith("."):
            yield from _read_label(text[1:], parameter.explode)
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


def _read_label(text: str, explode: bool) -> Iterator[Shape]:
    if not explode:
        yield from simple_shapes(text, explode, unescape)
    yield from simple_shapes(text, explode, unescape, ".")


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
