"""Decoding of untrusted YAML 1.2 with limits, and the text position of each value.

The values are composed from the parser's events. Unlike the loader of a YAML library, this rejects
duplicate keys and language tags, limits depth and the expansion of aliases (the nodes stay shared),
and records the position of every node.
"""

from __future__ import annotations

import enum
import math
import re
from array import array
from typing import Any, TypeAlias

import yaml
from msgspec import Struct, field

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.source.json_reader import is_unambiguous, report_repeated_key
from mcpgen.openapi.source.source_text import Limits, SourceText
from mcpgen.text.json_pointer import json_pointer

Scalar: TypeAlias = str | int | float | bool | None

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL_OR_HEXADECIMAL = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")


class OddNumberError(ValueError):
    """A YAML number that JSON cannot represent."""


def read_plain_scalar(text: str, max_digits: int) -> Scalar:
    """Return the value of an unquoted scalar: null, a boolean, a number, else the text itself.

    Dates, sexagesimals and `yes` of YAML 1.1 are text; `012` is twelve. A decimal beyond the range
    of a double is text, since it is usually a commit hash such as `4e1234`.

    Raises:
        OddNumberError: `.nan`, `.inf`, or an integer of more than `max_digits` digits.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INTEGER.match(text):
        if len(text) > max_digits:
            raise OddNumberError
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        return text if math.isinf(number) else number
    if _OCTAL_OR_HEXADECIMAL.match(text):
        return int(text, 0)
    if _NOT_FINITE.match(text):
        raise OddNumberError
    return text


def read_tagged_scalar(tag: str, text: str, max_digits: int) -> Scalar:
    """Return the value of a scalar with a tag of the core schema, e.g. `!!int "7"`.

    Raises:
        ValueError: the text is invalid for the tag.
        KeyError: the tag is not part of the core schema.
    """
    expected: tuple[type, ...] = _TAGS[tag]
    if expected == (str,):
        return text
    value = read_plain_scalar(text, max_digits)
    if float in expected and type(value) is int:
        return float(value)
    if type(value) not in expected:
        raise ValueError(f"{text!r} under {tag}")
    return value


_TAGS: dict[str, tuple[type, ...]] = {
    "!": (str,),
    "tag:yaml.org,2002:str": (str,),
    "tag:yaml.org,2002:int": (int,),
    "tag:yaml.org,2002:float": (float,),
    "tag:yaml.org,2002:bool": (bool,),
    "tag:yaml.org,2002:null": (type(None),),
}


HAS_C_PARSER: bool = yaml.__with_libyaml__
"""Whether libyaml parses; PyYAML's own parser is ten times slower."""

_PLAIN_WORD = re.compile(r"[^\s,\[\]{}]+")
_COLLECTION_TAGS = frozenset({None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


class YamlPositions:
    """Text positions of the values in a YAML text.

    `marks` has the offsets of each container's children, in order, by `id` of the container: of key
    and value in a mapping, of the item in a sequence.
    """

    def __init__(self, root: JsonValue, marks: dict[int, array[int]], text: str) -> None:
        self._root = root  # keeps the ids valid
        self._marks = marks
        self._text = text

    def offset(self, tokens: tuple[str, ...]) -> tuple[int, int]:
        """Return offset and width of the value at `tokens`; for a container, those of its key.

        If the value does not exist, they are those of its nearest existing parent.
        """
        node = self._root
        mark = at = len(self._text) - len(self._text.lstrip())
        key = ""
        for token in tokens:
            if isinstance(node, dict) and token in node:
                index = next(place for place, name in enumerate(node) if name == token)
                mark, at = self._marks[id(node)][2 * index : 2 * index + 2]
                key, node = token, node[token]
            elif isinstance(node, list) and token.isdecimal() and int(token) < len(node):
                mark = at = self._marks[id(node)][int(token)]
                key, node = "", node[int(token)]
            else:
                break
        if isinstance(node, dict | list):
            return mark, self._width(mark, key)
        return at, self._width(at, node)

    def _width(self, at: int, value: Scalar) -> int:
        """Return the length of a scalar's first line, including quotes."""
        quote = self._text[at : at + 1]
        if quote and quote in "\"'":
            end = self._text.find(quote, at + 1)
            return end - at + 1 if end > 0 else 1
        if not isinstance(value, str):
            written = _PLAIN_WORD.match(self._text, at)
            return len(written[0]) if written else 1
        first_line = value.partition("\n")[0]
        return len(first_line) if first_line and self._text.startswith(first_line, at) else 1


class _Sink(enum.Enum):
    """Destination of the value of the current mapping entry."""

    ENTRY = enum.auto()
    MERGE = enum.auto()
    REPEATED = enum.auto()  # its key is a duplicate
    NOWHERE = enum.auto()  # its key was rejected


class _Open(Struct):
    """A container that is being filled."""

    node: dict[str, Any] | list[Any]
    marks: array[int]
    anchor: str | None
    nodes_before: int
    key: str | None = None  # of the entry whose value comes next
    key_mark: int = 0
    sink: _Sink = _Sink.ENTRY
    # Values that are processed at the end of the mapping, when they are complete.
    merges: list[tuple[JsonValue, int, int]] = field(default_factory=list)
    repeated: list[tuple[str, JsonValue, int, int]] = field(default_factory=list)
    height: int = 1  # levels of containers, including this one


class _Anchored(Struct, frozen=True):
    node: JsonValue
    size: int  # nodes with expanded aliases
    height: int


def compose_yaml(
    source: SourceText, problems: Problems, limits: Limits
) -> tuple[JsonValue, YamlPositions]:
    """Decode one YAML document to JSON values, with the position of every node.

    Keys become strings as written (`200:` is "200"); `<<` merges mappings; the node of an alias is
    shared, not copied.

    Raises:
        RejectedError: it is not YAML, exceeds a limit, has conflicting duplicate keys, or has no
            JSON equivalent: language tags, collections as keys, several documents.
    """
    try:
        return _Composer(source, problems, limits).compose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        offset = min(mark.index, len(source.text)) if mark else 0
        message = error.problem or error.context or "not understood"
        _report_syntax(source, offset, message, problems)
    except yaml.reader.ReaderError as error:
        _report_syntax(source, _reader_offset(source, error), str(error.reason), problems)
    raise RejectedError


def _reader_offset(source: SourceText, error: yaml.reader.ReaderError) -> int:
    """Return the offset of an error in characters; libyaml counts bytes."""
    if not HAS_C_PARSER:
        return int(error.position)
    before = source.text.encode()[: error.position]
    return len(before.decode(errors="ignore"))


def _report_syntax(source: SourceText, offset: int, message: str, problems: Problems) -> None:
    problems.error(
        "yaml-syntax",
        f"invalid YAML: {message}",
        at=source.location(offset),
        why="the document cannot be read beyond this place",
        help="check the indentation and quotes here and in the previous line",
    )


class _Composer:
    """Composition of one document from parser events."""

    def __init__(self, source: SourceText, problems: Problems, limits: Limits) -> None:
        self._source = source
        self._problems = problems
        self._limits = limits
        self._is_refused = False
        self._root: JsonValue = None
        self._stack: list[_Open] = []
        self._marks: dict[int, array[int]] = {}
        self._anchors: dict[str, _Anchored | None] = {}  # None: its node is not complete yet
        self._documents = 0
        self._written = 0  # nodes in the text
        self._expanded = 0  # nodes in the value, if aliases were copies
        self._keys: dict[str, str] = {}  # one string object for equal keys

    def compose(self) -> tuple[JsonValue, YamlPositions]:
        handlers = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }
        loader = (yaml.CSafeLoader if HAS_C_PARSER else yaml.SafeLoader)(self._source.text)
        try:
            while (event := loader.get_event()) is not None:
                if (handle := handlers.get(type(event))) is not None:
                    handle(event)
        finally:
            loader.dispose()
        if self._is_refused:
            raise RejectedError
        return self._root, YamlPositions(self._root, self._marks, self._source.text)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._refuse(
                event,
                "yaml-documents",
                "expected one YAML document, found a second one",
                why="an API description is a single YAML document",
                help="keep one document in this file",
            )
            raise RejectedError

    def _start(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            self._refuse_tag(event)
        offset = event.start_mark.index
        node: dict[str, Any] | list[Any] = {} if type(event) is yaml.MappingStartEvent else []
        marks = self._marks[id(node)] = array("L")
        if event.anchor is not None:
            self._name_anchor(event, None)
        if self._awaits_key:
            self._refuse_key(event, "a collection")
        else:
            self._put(node, offset)
        self._stack.append(_Open(node, marks, event.anchor, self._expanded))
        self._written += 1
        self._expanded += 1
        self._check_depth(event, len(self._stack))

    def _end(self, _: Any) -> None:
        done = self._stack.pop()
        if isinstance(done.node, dict) and (done.repeated or done.merges):
            self._settle_repeated(done.node, done)
            self._merge(done.node, done)
        if self._stack:
            outer = self._stack[-1]
            outer.height = max(outer.height, done.height + 1)
        if done.anchor is not None:
            size = self._expanded - done.nodes_before
            self._anchors[done.anchor] = _Anchored(done.node, size, done.height)

    def _scalar(self, event: Any) -> None:
        self._written += 1
        self._expanded += 1
        if self._awaits_key:
            if event.anchor is not None:
                self._name_anchor(event, _Anchored(event.value, 1, 0))
            self._key(event, event.value, is_merge=event.value == "<<" and event.implicit[0])
            return
        value = self._scalar_value(event)
        if event.anchor is not None:
            self._name_anchor(event, _Anchored(value, 1, 0))
        self._put(value, event.start_mark.index)

    def _scalar_value(self, event: Any) -> Scalar:
        text: str = event.value
        try:
            if event.tag is not None:
                return read_tagged_scalar(event.tag, text, self._limits.max_number_digits)
            if event.implicit[0]:
                return read_plain_scalar(text, self._limits.max_number_digits)
        except KeyError:
            self._refuse_tag(event)
        except OddNumberError:
            self._refuse(
                event,
                "yaml-number",
                f"invalid number `{text[:20]}`: JSON cannot represent it",
                why="clients and APIs would read another value, or reject it",
                help="write a finite number with fewer digits, or quote it",
            )
        except ValueError:
            self._refuse(
                event,
                "yaml-tag",
                f"invalid value `{text[:20]}` for its tag",
                why="the tag determines the type of the value",
                help="remove the tag, or quote the value",
            )
        return text

    def _alias(self, event: Any) -> None:
        self._written += 1
        target = self._anchors.get(event.anchor)
        if target is None:
            self._refuse(
                event,
                "yaml-alias",
                f"alias `*{event.anchor}` inside its own anchor"
                if event.anchor in self._anchors
                else f"unknown anchor `&{event.anchor}`",
                why="an alias must follow the complete node of its anchor",
                help="use `$ref` for recursive structures, or correct the name",
            )
            target = _Anchored(None, 1, 0)
        self._expanded += target.size
        self._check_expansion(event)
        self._check_depth(event, len(self._stack) + target.height)
        if self._awaits_key:
            if isinstance(target.node, str):
                self._key(event, target.node, is_merge=False)
            else:
                self._refuse_key(event, "an alias of another value")
            return
        if self._stack:
            outer = self._stack[-1]
            outer.height = max(outer.height, target.height + 1)
        self._put(target.node, event.start_mark.index)

    def _name_anchor(self, event: Any, anchored: _Anchored | None) -> None:
        if event.anchor in self._anchors:
            mark = event.start_mark.index
            self._problems.warning(
                "yaml-anchor",
                f"duplicate anchor `&{event.anchor}`",
                at=self._source.location(mark, self._pointer(), len(event.anchor) + 1),
                why="an alias refers to the last anchor before it; some parsers reject this",
                help="use a different name for each anchor",
            )
        self._anchors[event.anchor] = anchored

    @property
    def _awaits_key(self) -> bool:
        if not self._stack:
            return False
        top = self._stack[-1]
        return top.key is None and type(top.node) is dict

    def _key(self, event: Any, key: str, *, is_merge: bool) -> None:
        top = self._stack[-1]
        offset = event.start_mark.index
        top.key = key = self._keys.setdefault(key, key)
        if is_merge:
            top.sink = _Sink.MERGE
        elif key in top.node:
            top.sink = _Sink.REPEATED
        top.key_mark = offset

    def _put(self, value: JsonValue, offset: int) -> None:
        if not self._stack:
            self._root = value
            return
        top = self._stack[-1]
        if isinstance(top.node, list):
            top.node.append(value)
            top.marks.append(offset)
            return
        if top.sink is _Sink.ENTRY:
            top.node[top.key or ""] = value
            top.marks.extend((top.key_mark, offset))
        elif top.sink is _Sink.MERGE:
            top.merges.append((value, top.key_mark, offset))
        elif top.sink is _Sink.REPEATED:
            top.repeated.append((top.key or "", value, top.key_mark, offset))
        top.key, top.sink = None, _Sink.ENTRY

    def _settle_repeated(self, node: dict[str, Any], done: _Open) -> None:
        for key, value, key_mark, value_mark in done.repeated:
            place = 2 * list(node).index(key)
            is_harmless = is_unambiguous(node[key], value)
            report_repeated_key(
                self._source.location(done.marks[place]),
                self._source.location(key_mark, self._pointer(key), len(key)),
                is_harmless,
                self._problems,
            )
            if node[key] is None:
                node[key] = value
                done.marks[place : place + 2] = array("L", (key_mark, value_mark))
            self._is_refused |= not is_harmless

    def _merge(self, node: dict[str, Any], done: _Open) -> None:
        """Add the entries of merged mappings; existing entries and earlier merges take priority."""
        for value, key_mark, value_mark in done.merges:
            for mapping in value if isinstance(value, list) else [value]:
                if not isinstance(mapping, dict):
                    self._refuse_merge(key_mark)
                    continue
                for key, item in mapping.items():
                    if key not in node:
                        node[key] = item
                        done.marks.extend((key_mark, value_mark))

    def _pointer(self, *inner: str) -> str:
        """Return the pointer of the current node, or of the entry `inner` of the last one."""
        tokens: list[str | int] = []
        for outer in self._stack:
            if isinstance(outer.node, list):
                tokens.append(len(outer.node) - 1)
            else:
                tokens.append(outer.key or next(reversed(outer.node), ""))
        if tokens and not inner and isinstance(tokens[-1], int):
            tokens[-1] += 1
        return json_pointer([*tokens, *inner])

    def _check_depth(self, event: Any, depth: int) -> None:
        if depth > self._limits.max_depth:
            self._refuse(
                event,
                "too-deep",
                f"mappings and sequences are nested more than {self._limits.max_depth} levels deep",
                why="each stage traverses the document recursively",
                help="move the inner parts to `components` and refer to them with `$ref`",
            )
            raise RejectedError

    def _check_expansion(self, event: Any) -> None:
        limits = self._limits
        allowed = max(limits.max_expanded_nodes, limits.max_alias_growth * self._written)
        if self._expanded > allowed:
            self._refuse(
                event,
                "yaml-expansion",
                f"aliases expand this document to more than {allowed:,} nodes",
                why="each stage traverses every copy",
                help="move shared parts to `components`, and refer to them with `$ref`",
            )
            raise RejectedError

    def _refuse_tag(self, event: Any) -> None:
        self._refuse(
            event,
            "yaml-tag",
            f"unsupported tag `{event.tag[:60]}`",
            why="tags can make a loader create objects or run code; only JSON types are allowed",
            help="remove the tag",
        )

    def _refuse_key(self, event: Any, found: str) -> None:
        self._refuse(
            event,
            "yaml-key",
            f"expected a string as key, found {found}",
            why="an API description is JSON, in which keys are strings",
            help="quote the key, or indent the following lines as its value",
        )
        top = self._stack[-1]
        top.key, top.key_mark, top.sink = "", event.start_mark.index, _Sink.NOWHERE

    def _refuse_merge(self, offset: int) -> None:
        self._problems.error(
            "yaml-merge",
            "expected a mapping as the value of `<<`",
            at=self._source.location(offset, self._pointer(), 2),
            why="only mappings can be merged",
            help="write an alias of a mapping, or a list of such aliases",
        )
        self._is_refused = True

    def _refuse(self, event: Any, code: str, message: str, *, why: str, help: str) -> None:
        mark = event.start_mark.index
        at = self._source.location(mark, self._pointer(), event.end_mark.index - mark)
        self._problems.error(code, message, at=at, why=why, help=help)
        self._is_refused = True
