"""Calls with values that encodings easily corrupt: reserved characters, Unicode, empty values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from mcpgen.ir.api import MediaType, Parameter
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.direction import Shape
from mcpgen.jsonschema.samples import CannotSampleError
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.jsonschema.values import copy_value
from mcpgen.plan.arguments.media_types import Kind, classify_body, is_range
from mcpgen.plan.arguments.travelling import has_empty, travels
from mcpgen.plan.cases.calls import PLACES, Call, Calls
from mcpgen.plan.cases.shared_parameters import ParameterResults

_MOST_LEAVES = 40
_MOST_CHOICES = 4  # inside each other
_CHOICES = ("anyOf", "oneOf")
_OF_FILES = frozenset({"items", "contentEncoding", "contentMediaType"})
_WITHOUT_EMPTY = frozenset({Kind.XML})  # where an empty text is no text
_WITHOUT_NULL = frozenset({Kind.FORM, Kind.MULTIPART, Kind.XML, Kind.TEXT})
_NOT_VARIED = frozenset({Kind.BINARY, Kind.UNSENDABLE})
_WITH_PARTS = frozenset({Kind.FORM, Kind.MULTIPART})

_Fits = Callable[[JsonValue], bool]


class _Kind(Struct, frozen=True):
    """Replacements of values: the first valid one of `texts`, or for other scalars `other`."""

    what: str
    texts: tuple[str | None, ...]
    other: Callable[[JsonValue], JsonValue] = lambda value: value  # of numbers and booleans

    def tries(self, leaf: JsonValue) -> Iterator[JsonValue]:
        """Yield the replacements of a scalar."""
        if isinstance(leaf, str):
            yield from self.texts
        elif leaf is not None:
            yield self.other(leaf)


_KINDS = (
    _Kind(
        "reserved characters",
        (
            "a/b?c#d&e=f+g%20 h;i,j:k@l[m]n!o$p'q(r)s*t\"u\\v<w>x{y}z|^`~",
            "a/b?c&d=e+f% g",
            "a/b&c=d%",
            "a/b?c#d&e+f%20:g@h!$'()*",
            "&/%",
        ),
    ),
    _Kind("Unicode", ("\u00e9 \u6f22\u5b57 \U0001f43e \u00f1", "\u00e9\u6f22\U0001f43e", "\u00e9")),
    _Kind("empty and falsy values", ("",), lambda value: False if isinstance(value, bool) else 0),
    _Kind("negative numbers", (), lambda value: value if isinstance(value, bool) else -7),
    _Kind("null", (None,), lambda _: None),
)


class _Body(Struct, frozen=True):
    """The largest body of a tool."""

    media_type: MediaType
    kind: Kind
    value: JsonValue
    original: str  # `value` as text; in Python, true equals 1
    kept: frozenset[str]  # members that must not vary
    allows: _Fits  # whether a body is valid

    def can_carry(self, kind: _Kind) -> bool:
        """Whether bodies of this media type can carry such values."""
        if self.kind is Kind.TEXT and "charset" in self.media_type.media_type.lower():
            return all(text is not None and text.isascii() for text in kind.texts[:1])
        if None in kind.texts:
            return self.kind not in _WITHOUT_NULL
        return "" not in kind.texts or self.kind not in _WITHOUT_EMPTY

    def vary(self, kind: _Kind) -> JsonValue:
        """Return a variation of the value."""
        return _vary(
            self.value,
            kind,
            lambda new: self.allows(new) and not _is_lost(new, self.kind),
            self.kept,
        )


class Variations:
    """Generation of such calls for the tools of one API."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._shapes = calls.shapes
        self._of_parameters: ParameterResults[Mapping[str, JsonValue]]
        self._of_parameters = ParameterResults(calls.bounds)
        self._named_tool: ToolPlan | None = None
        self._named: dict[tuple[str, str], list[str]] = {}

    def of(self, tool: ToolPlan, fullest: Call) -> Iterator[tuple[str, Call]]:
        """Yield calls with their subjects, each with only the differences from the smallest call.

        The values to replace are those of `fullest`, including optional ones.
        """
        varied = [(it, self._vary_parameter(it, fullest)) for it in tool.operation.parameters]
        body = self._choose_body(tool)
        for kind in _KINDS:
            call = Call()
            for parameter, values in varied:
                if kind.what in values:
                    self._set_argument(tool, parameter, values[kind.what], call)
            if body is not None and body.can_carry(kind):
                new = body.vary(kind)
                if repr(new) != body.original:
                    self._calls.add_body(tool, call, new, body.media_type)
            if call.arguments:
                yield kind.what, call
        yield from self._iterate_single_items(tool, fullest)
        yield from self._iterate_other_types(tool)

    def _vary_parameter(self, parameter: Parameter, fullest: Call) -> Mapping[str, JsonValue]:
        """Return alternative values of a parameter, by the kind of variation."""
        value = _find_sent_value(parameter, fullest)
        if value is None:
            return {}
        original = repr(value)  # in Python, true equals 1

        def vary() -> Mapping[str, JsonValue]:
            def can_send(new: JsonValue) -> bool:
                return self._calls.sent.fits(parameter.schema, new) and travels(parameter, new)

            varied = {kind.what: _vary(value, kind, can_send) for kind in _KINDS}
            return {what: new for what, new in varied.items() if repr(new) != original}

        return self._of_parameters.get(parameter, original, vary)

    def _set_argument(
        self, tool: ToolPlan, parameter: Parameter, new: JsonValue, call: Call
    ) -> None:
        """Set a parameter to its new value, if the tool has an argument for it."""
        for name in self._group_names(tool).get((parameter.location, parameter.name), ()):
            call.arguments[name] = self._calls.rename_members(tool, name, new)
            call.send(parameter, new)

    def _group_names(self, tool: ToolPlan) -> Mapping[tuple[str, str], list[str]]:
        """Return the names of a tool's arguments by their place; tools come one after the other."""
        if self._named_tool is not tool:
            self._named_tool, self._named = tool, {}
            for item in tool.arguments:
                self._named.setdefault((item.location, item.wire_name), []).append(item.name)
        return self._named

    def _choose_body(self, tool: ToolPlan) -> _Body | None:
        """Return the body of a tool, unless it does not vary."""
        if not tool.body or any(item.location == "body" for item in tool.fixed):
            return None
        media_type = tool.body[0]
        kind = classify_body(media_type)
        if kind in _NOT_VARIED or is_range(media_type.media_type):
            return None
        try:
            value = self._calls.body(media_type, "largest")
        except CannotSampleError:
            return None  # reported for the largest call
        kept: frozenset[str] = frozenset()
        if kind in _WITH_PARTS:
            if not isinstance(value, dict):
                return None  # parts without names are files
            kept = self._find_constant_members(media_type, kind)
        allows = self._calls.sent.checker(self._calls.body_schema(media_type))
        return _Body(media_type, kind, value, repr(value), kept, allows)

    def _find_constant_members(self, media_type: MediaType, body_kind: Kind) -> frozenset[str]:
        """Return the members that must not vary: those with delimiters, and possible files."""
        if body_kind is Kind.FORM:
            styles = {name: encoding.style for name, encoding in media_type.encoding.items()}
            return frozenset(name for name, style in styles.items() if "Delimited" in style)
        return self._find_files(media_type)

    def _find_files(self, media_type: MediaType) -> frozenset[str]:
        """Return the members of a multipart body that are or may be files."""
        return frozenset(
            name
            for name, shape in self._iterate_members(self._calls.body_schema(media_type))
            if name in media_type.encoding or self._may_be_file(shape)
        )

    def _may_be_file(self, shape: Shape, levels: int = _MOST_CHOICES) -> bool:
        """Whether a member, or one of its choices, is binary or a list."""
        keywords = shape.keywords
        if keywords.get("format") in ("binary", "byte") or not _OF_FILES.isdisjoint(keywords):
            return True
        options = [option for choice in _CHOICES for option in keywords.get(choice, ())]
        return levels > 0 and any(
            self._may_be_file(self._shapes.of(option), levels - 1) for option in options
        )

    def _iterate_members(self, schema: JsonSchema) -> Iterator[tuple[str, Shape]]:
        """Yield the members of an object and of all its choices."""
        keywords = self._shapes.of(schema).keywords
        for name, member in keywords.get("properties", {}).items():
            yield name, self._shapes.of(member)
        for choice in _CHOICES:
            for option in keywords.get(choice, ()):
                yield from self._iterate_members(option)

    def _iterate_single_items(self, tool: ToolPlan, fullest: Call) -> Iterator[tuple[str, Call]]:
        """Yield a call with lists of one item, which some encodings confuse with the item."""
        call = Call()
        for parameter in tool.operation.parameters:
            value = _find_sent_value(parameter, fullest)
            if isinstance(value, list) and len(value) > 1:
                single = value[:1]
                if self._calls.sent.fits(parameter.schema, single):
                    self._set_argument(tool, parameter, single, call)
        if call.arguments:
            yield "lists of one item", call

    def _iterate_other_types(self, tool: ToolPlan) -> Iterator[tuple[str, Call]]:
        """Yield a call for each media type that the smallest and the largest call do not use."""
        for media_type in tool.body[1:-1]:
            try:
                value = self._calls.body(media_type, "largest")
            except CannotSampleError:
                continue
            call = Call()
            self._calls.add_body(tool, call, value, media_type)
            yield f"a body of {media_type.media_type}", call


def _find_sent_value(parameter: Parameter, call: Call) -> JsonValue:
    if parameter.location not in PLACES:
        return None
    return call.request[parameter.location].get(parameter.name)


def _is_lost(value: JsonValue, kind: Kind) -> bool:
    """Whether a body of this kind cannot carry a value unchanged."""
    return kind in (Kind.FORM, Kind.MULTIPART, Kind.XML) and has_empty(value)


def _vary(
    value: JsonValue, kind: _Kind, fits: _Fits, kept: frozenset[str] = frozenset()
) -> JsonValue:
    """Return `value` with as many replaced leaves as its schema allows; `kept` members stay."""
    holder: list[Any] = [copy_value(value)]
    for container, key in islice(_iterate_leaves(holder, kept), _MOST_LEAVES):
        before = container[key]
        for new in kind.tries(before):
            container[key] = new
            if fits(holder[0]):
                break
            container[key] = before
    return holder[0]


def _iterate_leaves(
    container: Any, kept: frozenset[str], depth: int = 0
) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of each scalar."""
    keys = list(container) if isinstance(container, dict) else range(len(container))
    for key in keys:
        if depth == 1 and key in kept:
            continue
        if isinstance(container[key], (dict, list)):
            yield from _iterate_leaves(container[key], kept, depth + 1)
        else:
            yield container, key
