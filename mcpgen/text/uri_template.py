"""URI templates (RFC 6570): expansion to a URI, and matching of a URI to variable values.

Expansion covers all four levels. The RFC does not define matching. Here a match takes one pass: a
variable ends where the text after it begins, and named variables (`{?a,b}`) must be at the end of
the template; the URI may have them in any order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

Value: TypeAlias = "str | int | float | bool | list[str] | dict[str, str] | None"

_RESERVED: Final = ":/?#[]@!$&'()*+,;="
MAX_URI: Final = 8 * 1024  # characters
_VALUE: Final = re.compile(r"(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})*")
_ANY: Final = re.compile(r"(?:[^\s%{}\"<>\\^`|]|%[0-9A-Fa-f]{2})*")
_VARIABLE: Final = re.compile(r"([A-Za-z0-9_.%]+)(?::([1-9][0-9]{0,3})|(\*))?")


_SIMPLE_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")


def mask_variables(template: str) -> str:
    """Return a template without the names of its variables: `/pets/{}` for `/pets/{petId}`."""
    return _SIMPLE_EXPRESSION.sub("{}", template)


class _Operator(NamedTuple):
    """An operator of an expression (RFC 6570, appendix A)."""

    first: str
    separator: str
    is_named: bool
    if_empty: str
    allows_reserved: bool


_OPERATORS: Final = {
    "": _Operator("", ",", False, "", False),
    "+": _Operator("", ",", False, "", True),
    ".": _Operator(".", ".", False, "", False),
    "/": _Operator("/", "/", False, "", False),
    ";": _Operator(";", ";", True, "", False),
    "?": _Operator("?", "&", True, "=", False),
    "&": _Operator("&", "&", True, "=", False),
    "#": _Operator("#", ",", False, "", True),
}


class _Variable(NamedTuple):
    name: str
    max_length: int | None
    explodes: bool


class _Expression(NamedTuple):
    operator: _Operator
    variables: tuple[_Variable, ...]


class UriTemplate:
    """A parsed URI template.

    Raises:
        ValueError: the text is not a valid RFC 6570 template.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parse(text)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, in the order of their first occurrence."""
        names = (
            variable.name
            for part in self._parts
            if isinstance(part, _Expression)
            for variable in part.variables
        )
        return tuple(dict.fromkeys(names))

    def expand(self, values: Mapping[str, Value]) -> str:
        """Expand the template; a variable without a value is omitted."""
        return "".join(
            part if isinstance(part, str) else _expand(part, values) for part in self._parts
        )

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the percent-decoded values for which the template expands to `uri`, or None.

        A URI of more than `MAX_URI` characters matches no template.

        Raises:
            ValueError: the end of a variable is ambiguous, so that the template cannot be matched.
        """
        if len(uri) > MAX_URI:
            return None
        return _compile_matcher(self.text).match(uri)


class _Slot(NamedTuple):
    """The position of a variable in the path of a template."""

    name: str
    pattern: re.Pattern[str]
    max_length: int | None


class _Matcher(NamedTuple):
    """A template compiled for matching in one pass, without backtracking."""

    head: tuple[str | _Slot, ...]
    tail_mark: str  # "?", "&" or ";" before the named variables at the end; "" without them
    tail: frozenset[str]

    def match(self, uri: str) -> dict[str, str] | None:
        path, pairs = uri, ""
        if self.tail_mark:
            literal = "".join(part for part in self.head if isinstance(part, str))
            pieces = uri.split(self.tail_mark)
            fixed = literal.count(self.tail_mark) + 1
            path = self.tail_mark.join(pieces[:fixed])
            pairs = self.tail_mark.join(pieces[fixed:])
        values = self._match_path(path)
        if values is not None and pairs:
            for pair in pairs.split(";" if self.tail_mark == ";" else "&"):
                name, _, raw = pair.partition("=")
                value = _decode(raw, _VALUE) if name in self.tail else None
                if value is None or values.setdefault(name, value) != value:
                    return None
        return values

    def _match_path(self, path: str) -> dict[str, str] | None:
        values: dict[str, str] = {}
        position = 0
        for index, part in enumerate(self.head):
            if isinstance(part, str):
                if not path.startswith(part, position):
                    return None
                position += len(part)
                continue
            end = self._find_end(index, path, position)
            value = _decode(path[position:end], part.pattern) if end > position else None
            if value is None or (part.max_length and len(value) > part.max_length):
                return None
            if values.setdefault(part.name, value) != value:
                return None
            position = end
        return values if position == len(path) else None

    def _find_end(self, index: int, path: str, position: int) -> int:
        if index + 1 == len(self.head):
            return len(path)
        following = self.head[index + 1]
        assert isinstance(following, str)  # noqa: S101  (`_compile_matcher` separates all slots)
        if index + 2 == len(self.head):
            return len(path) - len(following)
        return path.find(following, position + 1)


@lru_cache(maxsize=1024)
def _compile_matcher(text: str) -> _Matcher:
    head: list[str | _Slot] = []
    tail: list[str] = []
    tail_mark = ""
    for part in _parse(text):
        if isinstance(part, _Expression) and part.operator.is_named:
            tail_mark = tail_mark or part.operator.first
            tail += [variable.name for variable in part.variables]
        elif tail:
            raise ValueError(f"{text!r} cannot be matched: named variables must be at its end")
        elif isinstance(part, str):
            _append(head, part)
        else:
            for index, variable in enumerate(part.variables):
                _append(head, part.operator.first if index == 0 else part.operator.separator)
                if head and isinstance(head[-1], _Slot):
                    raise ValueError(
                        f"{text!r} cannot be matched: expected text between two variables"
                    )
                pattern = _ANY if part.operator.allows_reserved else _VALUE
                head.append(_Slot(variable.name, pattern, variable.max_length))
    return _Matcher(tuple(head), tail_mark, frozenset(tail))


def _append(head: list[str | _Slot], literal: str) -> None:
    if literal and head and isinstance(head[-1], str):
        head[-1] += literal
    elif literal:
        head.append(literal)


def _decode(raw: str, pattern: re.Pattern[str]) -> str | None:
    if not pattern.fullmatch(raw):
        return None
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError:
        return None


def _parse(text: str) -> tuple[str | _Expression, ...]:
    parts: list[str | _Expression] = []
    for index, piece in enumerate(re.split(r"\{([^{}]*)\}", text)):
        if index % 2 == 0:
            if "{" in piece or "}" in piece:
                raise ValueError(f"unbalanced brace in {text!r}")
            if piece:
                parts.append(quote(piece, safe=_RESERVED + "%~"))
            continue
        operator = piece[:1] if piece[:1] in _OPERATORS else ""
        variables = []
        for specification in piece.removeprefix(operator).split(","):
            found = _VARIABLE.fullmatch(specification)
            if found is None:
                raise ValueError(f"invalid expression {{{piece}}} in {text!r} (RFC 6570)")
            length = int(found[2]) if found[2] else None
            variables.append(_Variable(found[1], length, bool(found[3])))
        parts.append(_Expression(_OPERATORS[operator], tuple(variables)))
    return tuple(parts)


def _expand(expression: _Expression, values: Mapping[str, Value]) -> str:
    operator = expression.operator
    pieces = []
    for variable in expression.variables:
        value = values.get(variable.name)
        if value is None or value == [] or value == {}:
            continue
        pieces.append(_expand_variable(operator, variable, value))
    return operator.first + operator.separator.join(pieces) if pieces else ""


def _expand_variable(operator: _Operator, variable: _Variable, value: Value) -> str:
    def encode(text: str) -> str:
        return quote(text, safe=_RESERVED + "~" if operator.allows_reserved else "~")

    def add_name(name: str, text: str) -> str:
        if not operator.is_named:
            return text
        return f"{name}={text}" if text else name + operator.if_empty

    if isinstance(value, dict):
        if variable.explodes:
            pairs = (f"{encode(key)}={encode(item)}" for key, item in value.items())
            return operator.separator.join(pairs)
        flat = ",".join(f"{encode(key)},{encode(item)}" for key, item in value.items())
        return add_name(variable.name, flat)
    if isinstance(value, list):
        if variable.explodes:
            return operator.separator.join(add_name(variable.name, encode(item)) for item in value)
        return add_name(variable.name, ",".join(encode(item) for item in value))
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return add_name(variable.name, encode(text[: variable.max_length]))
