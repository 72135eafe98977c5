"""URI templates (RFC 6570): which resource a URI asks for, and with what values.

Expansion covers all four levels. Matching, which the RFC leaves open, covers what can be matched
without doubt: each variable takes the characters that its operator can produce, and as few as
the rest of the template leaves it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

Value: TypeAlias = "str | int | float | bool | list[str] | dict[str, str] | None"

_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_VARIABLE: Final = re.compile(r"([A-Za-z0-9_.%]+)(?::([1-9][0-9]{0,3})|(\*))?")


class _Operator(NamedTuple):
    """A row of RFC 6570, appendix A."""

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
    """A parsed template.

    Raises:
        ValueError: the text is no RFC 6570 template.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parse(text)
        self._pattern, self._groups = _compile(text)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, in the order in which they first occur."""
        names = (
            variable.name
            for part in self._parts
            if isinstance(part, _Expression)
            for variable in part.variables
        )
        return tuple(dict.fromkeys(names))

    def expand(self, values: Mapping[str, Value]) -> str:
        """Give the URI for these values; a variable without one is left out."""
        return "".join(
            part if isinstance(part, str) else _expand(part, values) for part in self._parts
        )

    def match(self, uri: str) -> dict[str, str] | None:
        """Give the values, percent-decoded, with which this template gives `uri`; else None."""
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        values: dict[str, str] = {}
        for group, name in self._groups.items():
            raw = found.group(group)
            if raw is None:
                continue
            value = unquote(raw, errors="strict") if _decodes(raw) else None
            if value is None or values.setdefault(name, value) != value:
                return None
        return values


def _parse(text: str) -> tuple[str | _Expression, ...]:
    parts: list[str | _Expression] = []
    for index, piece in enumerate(re.split(r"\{([^{}]*)\}", text)):
        if index % 2 == 0:
            if "{" in piece or "}" in piece:
                raise ValueError(f"a brace in {text!r} has no partner")
            if piece:
                parts.append(quote(piece, safe=_RESERVED + "%~"))
            continue
        operator = piece[:1] if piece[:1] in _OPERATORS else ""
        variables = []
        for specification in piece.removeprefix(operator).split(","):
            found = _VARIABLE.fullmatch(specification)
            if found is None:
                raise ValueError(f"{{{piece}}} in {text!r} is no expression of RFC 6570")
            length = int(found[2]) if found[2] else None
            variables.append(_Variable(found[1], length, bool(found[3])))
        parts.append(_Expression(_OPERATORS[operator], tuple(variables)))
    return tuple(parts)


@lru_cache(maxsize=1024)
def _compile(text: str) -> tuple[re.Pattern[str], dict[str, str]]:
    pattern = ""
    groups: dict[str, str] = {}
    for part in _parse(text):
        if isinstance(part, str):
            pattern += re.escape(part)
            continue
        operator = part.operator
        for index, variable in enumerate(part.variables):
            group = f"v{len(groups)}"
            groups[group] = variable.name
            before = operator.first if index == 0 else operator.separator
            piece = re.escape(before)
            if operator.is_named:
                piece += re.escape(variable.name) + "(?:=)?"
            piece += f"(?P<{group}>{_characters(operator, variable)})"
            # Only what has a sign of its own in front may be missing altogether.
            pattern += f"(?:{piece})?" if operator.is_named else piece
    return re.compile(pattern), groups


def _characters(operator: _Operator, variable: _Variable) -> str:
    if operator.allows_reserved:
        allowed = r"(?:[^\s%{}\"<>\\^`|]|%[0-9A-Fa-f]{2})"
    else:
        allowed = r"(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})"
    least = 0 if operator.is_named else 1
    most = "" if variable.max_length is None else str(variable.max_length)
    return f"{allowed}{{{least},{most}}}?"


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

    def named(name: str, text: str) -> str:
        if not operator.is_named:
            return text
        return f"{name}={text}" if text else name + operator.if_empty

    if isinstance(value, dict):
        if variable.explodes:
            pairs = (f"{encode(key)}={encode(item)}" for key, item in value.items())
            return operator.separator.join(pairs)
        flat = ",".join(f"{encode(key)},{encode(item)}" for key, item in value.items())
        return named(variable.name, flat)
    if isinstance(value, list):
        if variable.explodes:
            return operator.separator.join(named(variable.name, encode(item)) for item in value)
        return named(variable.name, ",".join(encode(item) for item in value))
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return named(variable.name, encode(text[: variable.max_length]))


def _decodes(raw: str) -> bool:
    try:
        unquote(raw, errors="strict")
    except UnicodeDecodeError:
        return False
    return True
