"""Edit JSON with comments and trailing commas (JSONC); every other character stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Final

from msgspec import Struct, field

from mcpgen.factory.clients.texts import (
    ConfigSyntaxError,
    Edited,
    Traces,
    UneditableError,
    find_newline,
    locate,
)
from mcpgen.jsonschema.types import JsonObject, JsonValue

_MAX_DEPTH: Final = 200
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|(?>/\*.*?\*/))*+", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SPACE: Final = " \t\r\n"
_LINE_END: Final = re.compile(r"(?:\r?\n)?")


class Node(Struct):
    """A value with its place in the text.

    `members` are those of an object, or the items of an array, whose keys are "".
    """

    start: int
    end: int
    value: JsonValue
    members: list[Member] = field(default_factory=list)

    def find(self, key: str) -> Member | None:
        """Return the member that parsers use: the last one with this key."""
        return next((each for each in reversed(self.members) if each.key == key), None)


class Member(Struct):
    """A member of an object; `comma` is the end of the comma after it, 0 if there is none."""

    key: str
    start: int
    node: Node
    comma: int = 0


def parse_json(text: str) -> Node:
    """Parse a JSON text that may contain comments and trailing commas.

    Raises:
        ConfigSyntaxError: it is malformed, or nested more than 200 levels deep.
    """
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> Node:
        self._skip()
        node = self._parse_value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._fail("unexpected text after the value")
        return node

    def _fail(self, message: str) -> ConfigSyntaxError:
        return ConfigSyntaxError(message, *locate(self._text, self._at))

    def _skip(self) -> None:
        self._at = _TRIVIA.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches ""

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _parse_value(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self._fail(f"nested more than {_MAX_DEPTH} levels deep")
        start, char = self._at, self._peek()
        if char == "{":
            return self._parse_object(start, depth)
        if char == "[":
            return self._parse_array(start, depth)
        found = (_STRING if char == '"' else _SCALAR).match(self._text, start)
        if found is None:
            raise self._fail("expected a value" if char else "unexpected end of the file")
        self._at = found.end()
        try:
            return Node(start, found.end(), json.loads(found[0]))
        except ValueError as error:
            self._at = start
            raise self._fail(f"invalid value: {error}") from None

    def _parse_object(self, start: int, depth: int) -> Node:
        node = Node(start, start, {})
        values: JsonObject = {}
        self._at += 1
        self._skip()
        while self._peek() != "}":
            key_start = self._at
            found = _STRING.match(self._text, key_start)
            if found is None:
                raise self._fail('expected a key in double quotes, or "}"')
            key = json.loads(found[0])
            self._at = found.end()
            self._skip()
            if self._peek() != ":":
                raise self._fail('expected ":" after the key')
            self._at += 1
            self._skip()
            member = Member(key, key_start, self._parse_value(depth + 1))
            node.members.append(member)
            values[key] = member.node.value
            if not self._parse_comma("}"):
                break
            member.comma = self._at
            self._skip()
        self._at += 1
        return Node(start, self._at, values, node.members)

    def _parse_array(self, start: int, depth: int) -> Node:
        items: list[Member] = []
        self._at += 1
        self._skip()
        while self._peek() != "]":
            item = Member("", self._at, self._parse_value(depth + 1))
            items.append(item)
            if not self._parse_comma("]"):
                break
            item.comma = self._at
            self._skip()
        self._at += 1
        return Node(start, self._at, [each.node.value for each in items], items)

    def _parse_comma(self, closing: str) -> bool:
        """Read a comma after a value and return True; return False at the closing bracket."""
        self._skip()
        if self._peek() == ",":
            self._at += 1
            return True
        if self._peek() != closing:
            raise self._fail(f'expected "," or "{closing}"')
        return False


def read_json(text: str) -> JsonValue:
    """Return the value of a text; {} if it has none.

    Raises:
        ConfigSyntaxError: it is malformed.
    """
    return {} if _is_blank(text) else parse_json(text).value


def _is_blank(text: str) -> bool:
    return _TRIVIA.fullmatch(text) is not None


def insert_in_json(text: str, keys: tuple[str, ...], name: str, entry: JsonValue) -> Edited:
    """Add the member `name` to the object to which `keys` lead; missing objects are created.

    Raises:
        ConfigSyntaxError: the text is malformed.
        UneditableError: something else than an object is in the way.
    """
    if _is_blank(text):
        return _write_root(text, keys, name, entry)
    node, depth = parse_json(text), 0
    _require_object(node, keys[:0])
    while depth < len(keys) and (member := node.find(keys[depth])) is not None:
        node, depth = member.node, depth + 1
        _require_object(node, keys[:depth])
    added, value = [*keys[depth:], name], entry
    for key in reversed(added[1:]):
        value = {key: value}
    created = tuple(keys[: number + 1] for number in range(depth, len(keys)))
    inner = {} if node.members else {keys[:depth]: text[node.start + 1 : node.end - 1]}
    return Edited(_insert(text, node, added[0], value), created=created, inner=inner)


def _write_root(text: str, keys: tuple[str, ...], name: str, entry: JsonValue) -> Edited:
    """Write the root object into a text that has only white space and comments."""
    newline = find_newline(text)
    value: JsonObject = {name: entry}
    for key in reversed(keys):
        value = {key: value}
    body = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", newline)
    gap = newline if text and not text.endswith("\n") else ""
    created = tuple(keys[:depth] for depth in range(len(keys) + 1))
    return Edited(f"{text}{gap}{body}{newline}", created=created, gap=gap)


def _require_object(node: Node, keys: tuple[str, ...]) -> None:
    if not isinstance(node.value, dict):
        place = f"`{'.'.join(keys)}`" if keys else "the file"
        raise UneditableError(f"{place} is not an object")


def _insert(text: str, node: Node, key: str, value: JsonValue) -> str:
    """Insert a member at the end of an object, or with the key "" an item into an array."""
    close = node.end - 1
    last = node.members[-1] if node.members else None
    # Behind the last member, and behind comments after it.
    at = len(text[:close].rstrip(_SPACE))
    trivia = text[(last.comma or last.node.end) if last else node.start + 1 : at]
    own_lines = _has_own_lines(text, node) or "//" in trivia
    newline, outer = find_newline(text), _read_indent(text, node.start)
    step = _find_indent_step(text)
    indent = _read_indent(text, last.start) if last and own_lines else outer + step
    member = _spell_member(key, value, indent, step, newline) if own_lines else _spell(key, value)
    before = f"{newline}{indent}" if own_lines else " " if last else ""
    if last is None:
        inner = text[node.start + 1 : close]
        after = f"{newline}{outer}" if own_lines and "\n" not in text[at:close] else ""
        if not inner.strip():
            return f"{text[: node.start + 1]}{before}{member}{after or inner}{text[close:]}"
        return f"{text[:at]}{before}{member}{after}{text[at:]}"
    if last.comma:
        return f"{text[:at]}{before}{member},{text[at:]}"
    end = last.node.end
    return f"{text[:end]},{text[end:at]}{before}{member}{text[at:]}"


def _has_own_lines(text: str, node: Node) -> bool:
    """Return whether the members of an object are, or should be, on lines of their own."""
    if node.members:
        start = node.members[-1].start
        return "\n" in text[len(text[:start].rstrip(_SPACE)) : start]
    return "\n" in text.strip() or len(text.strip()) == node.end - node.start


def _read_indent(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _find_indent_step(text: str) -> str:
    """Return the first indentation in the text, two spaces if there is none."""
    found = re.search(r"\n([ \t]+)[^\s]", text)
    return found[1] if found else "  "


def _spell(key: str, value: JsonValue) -> str:
    return json.dumps({key: value} if key else [value], ensure_ascii=False)[1:-1]


def _spell_member(key: str, value: JsonValue, indent: str, step: str, newline: str) -> str:
    member = json.dumps(value, indent=step, ensure_ascii=False)
    member = member.replace("\n", f"{newline}{indent}")
    return f"{json.dumps(key, ensure_ascii=False)}: {member}" if key else member


def remove_from_json(text: str, keys: tuple[str, ...], name: str, traces: Traces) -> str:
    """Remove the member `name` of the object to which `keys` lead, and objects made for it.

    Raises:
        ConfigSyntaxError: the text is malformed.
        UneditableError: there is no such member.
    """
    path = (*keys, name)
    if _is_blank(text):
        raise UneditableError(f"there is no `{'.'.join(path)}`")
    while True:
        root = node = parse_json(text)
        for key in path[:-1]:
            member = node.find(key)
            if member is None:
                raise UneditableError(f"there is no `{'.'.join(path)}`")
            node = member.node
        if node.find(path[-1]) is None:
            raise UneditableError(f"there is no `{'.'.join(path)}`")
        outer = path[:-1]
        is_left_empty = len(node.members) == 1 and _is_empty_without(text, node)
        if not (is_left_empty and outer in traces.created):
            index = max(i for i, each in enumerate(node.members) if each.key == path[-1])
            return _remove_member(text, node, index, traces.inner.get(outer, ""))
        if not outer:
            return _remove_root(text, root, traces)
        path = outer


def _remove_root(text: str, root: Node, traces: Traces) -> str:
    """Remove a root object that was written into a text without one."""
    end = _LINE_END.match(text, root.end).end()  # type: ignore[union-attr]  # matches ""
    return text[: root.start].removesuffix(traces.gap) + text[end:]


def _is_empty_without(text: str, node: Node, former: str = "") -> bool:
    """Whether an object with one member contains, besides it, only the comments of `former`."""
    member = node.members[0]
    end = member.comma or member.node.end
    rest = text[node.start + 1 : member.start] + text[end : node.end - 1]
    return "".join(rest.split()) == "".join(former.split())


def append_to_json(text: str, key: str, item: JsonValue, traces: Traces) -> str:
    """Add an item to the array that is the member `key` of the root; a missing one is created.

    Raises:
        ConfigSyntaxError: the text is malformed.
        UneditableError: the member is not an array.
    """
    root = parse_json(text)
    member = root.find(key)
    if member is None:
        traces.created.append((key,))
        if not root.members:
            traces.inner.setdefault((), text[root.start + 1 : root.end - 1])
        return _insert(text, root, key, [item])
    node = member.node
    if not isinstance(node.value, list):
        raise UneditableError(f"`{key}` is not an array")
    if not node.members:
        traces.inner.setdefault((key,), text[node.start + 1 : node.end - 1])
    return _insert(text, node, "", item)


def remove_items_from_json(text: str, key: str, ids: Collection[str], traces: Traces) -> str:
    """Remove the items with these ids from the array that is the member `key` of the root.

    Raises:
        ConfigSyntaxError: the text is malformed.
    """
    while True:
        root = parse_json(text)
        member = root.find(key)
        items = member.node.members if member is not None else []
        found = [index for index, each in enumerate(items) if _get_id(each.node.value) in ids]
        if member is None or not found:
            return text
        node = member.node
        if len(items) == 1 and (key,) in traces.created and _is_empty_without(text, node):
            if len(root.members) == 1 and () in traces.created and _is_empty_without(text, root):
                return _remove_root(text, root, traces)
            text = _remove_member(text, root, root.members.index(member), traces.inner.get((), ""))
        else:
            text = _remove_member(text, node, found[-1], traces.inner.get((key,), ""))


def _get_id(value: JsonValue) -> str:
    return str(value.get("id")) if isinstance(value, dict) else ""


def _remove_member(text: str, node: Node, index: int, former: str) -> str:
    member = node.members[index]
    start = len(text[: member.start].rstrip(_SPACE))
    if len(node.members) == 1 and _is_empty_without(text, node, former):
        return f"{text[: node.start + 1]}{former}{text[node.end - 1 :]}"
    if member.comma:
        between = text[member.node.end : member.comma - 1]  # comments before the comma
        return f"{text[:start]}{between.rstrip(_SPACE)}{text[member.comma :]}"
    if index == 0:
        return f"{text[:start]}{text[member.node.end :]}"
    comma = node.members[index - 1].comma
    return f"{text[: comma - 1]}{text[comma:start]}{text[member.node.end :]}"
