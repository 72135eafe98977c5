"""Edit YAML by adding and removing entries; every other character stays as it is."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml
from msgspec import Struct

from mcpgen.factory.clients.texts import (
    ConfigSyntaxError,
    Edited,
    Traces,
    UneditableError,
    find_newline,
    find_value,
)
from mcpgen.ir.yaml_nodes import find_line_end, find_node_end
from mcpgen.jsonschema.types import JsonObject, JsonValue

_STEP: Final = "  "
NAME_KEY: Final = "name"
"""In a list of servers, the key of an entry that has its name."""


def read_yaml(text: str) -> Any:
    """Return the value of a text with one document; {} if it is empty.

    Raises:
        ConfigSyntaxError: it is malformed, or contains a tag of its own.
    """
    try:
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise ConfigSyntaxError(error.problem or "invalid YAML", line, column) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigSyntaxError(str(error)) from None
    return {} if value is None else value


def insert_in_yaml(text: str, key: str, name: str, entry: JsonObject, *, in_list: bool) -> Edited:
    """Add an entry to the mapping, or the list, that is the value of `key` in the root.

    Raises:
        ConfigSyntaxError: the text is malformed.
        UneditableError: the value of `key` is of another kind, or is written in an unusual way.
    """
    before = read_yaml(text)
    if not isinstance(before, dict):
        raise UneditableError("the file is not a mapping")
    value: dict[str, Any] | list[Any] = (
        [{NAME_KEY: name, **entry}] if in_list else {name: dict(entry)}
    )
    outer = before.get(key)
    if not (outer is None or isinstance(outer, list if in_list else dict)):
        raise UneditableError(f"`{key}` is not a {'list' if in_list else 'mapping'}")
    place = _find_place(text, key, in_list=in_list)
    inserted = place.spell(value)
    container = f"{key}:{place.newline}" if place.is_new else ""
    after = f"{text[: place.at]}{place.gap}{container}{inserted}{text[place.at :]}"
    try:
        is_right = yaml.safe_load(after) == {**before, key: _join(outer, value)}
    except yaml.YAMLError:
        is_right = False
    if not is_right:
        raise UneditableError(f"`{key}` is written so that nothing can be added to it")
    return Edited(after, inserted, ((key,),) if place.is_new else (), gap=place.gap)


def _join(outer: Any, value: Any) -> Any:
    return [*(outer or ()), *value] if isinstance(value, list) else {**(outer or {}), **value}


class _Place(Struct, frozen=True):
    """Place and style of a new entry: flow style after `separator`, or lines."""

    at: int
    newline: str
    indent: str = ""
    gap: str = ""  # ends the line before
    is_flow: bool = False
    separator: str = ""
    is_new: bool = False  # the key has to be written before it

    def spell(self, value: JsonValue) -> str:
        """Return the text of an entry, without the brackets of its mapping or list."""
        if self.is_flow:
            return self.separator + json.dumps(value, ensure_ascii=False)[1:-1]
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
        return "".join(f"{self.indent}{line}{self.newline}" for line in text.splitlines())


def _find_place(text: str, key: str, *, in_list: bool) -> _Place:
    newline = find_newline(text)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    found = next((pair for pair in reversed(pairs) if pair[0].value == key), None)
    if found is None:
        if isinstance(root, yaml.MappingNode) and pairs and root.flow_style:
            raise UneditableError("the file is one flow mapping")
        at = find_line_end(text, find_node_end(pairs[-1][1])) if pairs else len(text)
        indent = "" if in_list else _STEP
        return _Place(at, newline, indent, _end_line(text, at, newline), is_new=True)
    key_node, node = found
    if isinstance(node, yaml.CollectionNode):
        if node.flow_style:
            separator = ", " if node.value else ""
            return _Place(node.end_mark.index - 1, newline, is_flow=True, separator=separator)
        at, indent = find_line_end(text, find_node_end(node)), " " * node.start_mark.column
    else:  # `key:` without a value
        at, indent = find_line_end(text, key_node.end_mark.index), _STEP
    return _Place(at, newline, indent, _end_line(text, at, newline))


def _end_line(text: str, at: int, newline: str) -> str:
    return newline if at and text[at - 1] != "\n" else ""


def remove_from_yaml(text: str, key: str, name: str, traces: Traces, *, in_list: bool) -> str:
    """Remove an entry from the mapping, or the list, that is the value of `key` in the root.

    The key is removed as well if it was added with the first entry.

    Raises:
        ConfigSyntaxError: the text is malformed.
        UneditableError: there is no such entry, or it is written in an unusual way.
    """
    expected = read_yaml(text)
    outer = find_value(expected, (key,))
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    missing = UneditableError(f"there is no `{key}.{name}`")
    if not isinstance(root, yaml.MappingNode):
        raise missing
    node = next((pair[1] for pair in reversed(root.value) if pair[0].value == key), None)
    if not isinstance(node, yaml.CollectionNode):
        raise missing
    index = _find_index(outer, node, name, in_list=in_list)
    if index is None:
        raise missing
    if len(node.value) == 1 and (key,) in traces.created:
        pair = next(pair for pair in reversed(root.value) if pair[1] is node)
        start, end = _block_span(text, pair[0].start_mark.index, find_node_end(node))
    else:
        start, end = _entry_span(text, node, index)
    after = text[:start] + text[end:]
    if isinstance(outer, list):
        del outer[index]
    elif isinstance(outer, dict):
        del outer[name]
    left = read_yaml(after)
    if not outer:  # an empty block is null, or is gone with its key
        left.pop(key, None)
        expected.pop(key)
    if left != expected:
        raise UneditableError(f"`{key}.{name}` is written so that it cannot be removed alone")
    return after


def _find_index(
    outer: JsonValue, node: yaml.CollectionNode, name: str, *, in_list: bool
) -> int | None:
    if in_list:
        entries = outer if isinstance(outer, list) else []
        names = [each.get(NAME_KEY) if isinstance(each, dict) else None for each in entries]
    else:
        names = [pair[0].value for pair in node.value if isinstance(pair, tuple)]
    found = [index for index, each in enumerate(names) if each == name]
    return found[-1] if found else None


def _entry_span(text: str, node: yaml.CollectionNode, index: int) -> tuple[int, int]:
    item = node.value[index]
    first, last = item if isinstance(item, tuple) else (item, item)
    start, end = first.start_mark.index, find_node_end(last)
    if not node.flow_style:
        return _block_span(text, start, end)
    if index + 1 < len(node.value):
        following = node.value[index + 1]
        return start, (following[0] if isinstance(following, tuple) else following).start_mark.index
    if index:
        before = node.value[index - 1]
        return find_node_end(before[1] if isinstance(before, tuple) else before), end
    return start, end


def _block_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the whole lines from one offset to another."""
    return text.rfind("\n", 0, start) + 1, find_line_end(text, end)
