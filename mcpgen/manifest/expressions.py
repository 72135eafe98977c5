"""Parser of runtime expressions and simple conditions (Arazzo 1.0)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcpgen.ir.workflow import (
    Comparison,
    Condition,
    Expression,
    InputValue,
    ItemValue,
    Junction,
    ListOf,
    Literal,
    Negation,
    ObjectOf,
    OutputValue,
    ResponseValue,
    Tokens,
    Truth,
    Value,
)
from mcpgen.jsonschema.types import JsonValue
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

_NAME: Final = r"[A-Za-z0-9_\-]+"
_MEMBERS: Final = r"(?P<members>(?:\.[A-Za-z0-9_\-]+|\[[0-9]+\])*)(?:#(?P<pointer>/.*)?)?"
_INPUT = re.compile(rf"\$inputs\.(?P<name>{_NAME}){_MEMBERS}\Z")
_OUTPUT = re.compile(rf"\$steps\.(?P<step>{_NAME})\.outputs\.(?P<name>{_NAME}){_MEMBERS}\Z")
_ITEM = re.compile(rf"\$item{_MEMBERS}\Z")
_BODY = re.compile(r"\$response\.body(?:#(?P<pointer>/.*)?)?\Z")
_HEADER = re.compile(r"\$response\.header\.(?P<name>[!#$%&'*+\-.^_`|~0-9A-Za-z]+)\Z")
_EMBEDDED = re.compile(
    r"\{\$(?:inputs|steps|response|statusCode|url|method|request|workflows|sourceDescriptions)\b"
    r"|.\$(?:inputs|steps)\.\w",
    re.DOTALL,
)
_WORD = re.compile(
    r"""\s*(?:(?P<operator>&&|\|\||==|!=|<=|>=|<|>|!|\(|\))
    |(?P<text>'(?:[^']|'')*')
    |(?P<expression>\$[^\s()&|<>=!]+)
    |(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?)(?![\w.])
    |(?P<constant>true|false|null)\b)""",
    re.VERBOSE,
)
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_MAX_CONDITION: Final = 1000
_MAX_NESTING: Final = 50
KINDS: Final = "`$inputs.name`, `$steps.id.outputs.name`, `$item`, `$response.body#/pointer`, \
`$response.header.name` or `$statusCode`"


class ExpressionError(ValueError):
    """An invalid expression; `tokens` is its place inside the parsed value."""

    def __init__(self, message: str, tokens: Tokens = ()) -> None:
        super().__init__(message)
        self.tokens = tokens


def read_value(written: JsonValue, tokens: Tokens = ()) -> Value:
    """Parse literals and expressions in any structure; `$$` escapes a leading `$`.

    Raises:
        ExpressionError: a text that begins with `$` is not a valid expression.
    """
    if isinstance(written, dict):
        return ObjectOf(
            tuple((name, read_value(item, (*tokens, name))) for name, item in written.items())
        )
    if isinstance(written, list):
        return ListOf(
            tuple(read_value(item, (*tokens, str(at))) for at, item in enumerate(written))
        )
    if not isinstance(written, str):
        return Literal(written)
    if written.startswith("$$"):
        return Literal(written[1:])
    if _EMBEDDED.search(written):
        raise ExpressionError("invalid expression inside a longer text", tokens)
    return _read_expression(written, tokens) if written.startswith("$") else Literal(written)


def _read_expression(text: str, tokens: Tokens = ()) -> Expression:
    """Parse one runtime expression."""
    if text == "$statusCode":
        return ResponseValue("status")
    if found := _BODY.match(text):
        return ResponseValue("body", _normalize_pointer(found["pointer"] or "", tokens))
    if found := _HEADER.match(text):
        return ResponseValue("header", found["name"])
    if found := _INPUT.match(text):
        return InputValue(found["name"], _parse_pointer(found, tokens))
    if found := _OUTPUT.match(text):
        return OutputValue(found["step"], found["name"], _parse_pointer(found, tokens))
    if found := _ITEM.match(text):
        return ItemValue(_parse_pointer(found, tokens))
    raise ExpressionError(f"invalid expression `{text}`", tokens)


def _parse_pointer(found: re.Match[str], tokens: Tokens) -> str:
    members = re.findall(r"[A-Za-z0-9_\-]+", found["members"])
    return json_pointer(members) + _normalize_pointer(found["pointer"] or "", tokens)


def _normalize_pointer(pointer: str, tokens: Tokens) -> str:
    """Return the pointer in normal form; reject escapes that RFC 6901 does not define."""
    if re.search(r"~(?![01])", pointer):
        raise ExpressionError(f"invalid JSON Pointer `{pointer}`", tokens)
    return json_pointer(pointer_tokens(pointer))


def read_condition(text: str) -> Condition:
    """Parse a simple condition of Arazzo: `$inputs.copies > 1 && $statusCode == 200`.

    Raises:
        ExpressionError: it is invalid or too long.
    """
    if len(text) > _MAX_CONDITION:
        raise ExpressionError(f"the condition has more than {_MAX_CONDITION:,} characters")
    return _ConditionParser(text).parse()


class _ConditionParser:
    """Recursive descent parser of one condition."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = list(_words(text))
        if sum(word in ("(", "!") for word in self._words) > _MAX_NESTING:
            raise ExpressionError(f"the condition has more than {_MAX_NESTING} parentheses and `!`")

    def parse(self) -> Condition:
        found = self._parse_either()
        if self._words:
            raise self._make_error()
        return found

    def _parse_either(self) -> Condition:
        parts = [self._parse_all()]
        while self._take("||"):
            parts.append(self._parse_all())
        return parts[0] if len(parts) == 1 else Junction("or", tuple(parts))

    def _parse_all(self) -> Condition:
        parts = [self._parse_one()]
        while self._take("&&"):
            parts.append(self._parse_one())
        return parts[0] if len(parts) == 1 else Junction("and", tuple(parts))

    def _parse_one(self) -> Condition:
        if self._take("!"):
            return Negation(self._parse_one())
        if self._take("("):
            inner = self._parse_either()
            if not self._take(")"):
                raise self._make_error()
            return inner
        left = self._parse_value()
        if self._words and self._words[0] in _COMPARISONS:
            return Comparison(left, str(self._words.pop(0)), self._parse_value())
        return Truth(left)

    def _parse_value(self) -> Value:
        word = self._words.pop(0) if self._words else ""
        if isinstance(word, str):  # an operator
            raise self._make_error()
        return word

    def _take(self, operator: str) -> bool:
        if self._words and self._words[0] == operator:
            self._words.pop(0)
            return True
        return False

    def _make_error(self) -> ExpressionError:
        return ExpressionError(f"invalid condition `{self._text}`")


def _words(text: str) -> Iterator[str | Value]:
    """Yield operators as strings, and operands as values."""
    at = 0
    while text[at:].strip():
        found = _WORD.match(text, at)
        if found is None:
            raise ExpressionError(f"invalid condition at `{text[at:].strip()}`")
        at = found.end()
        match found.lastgroup, found[found.lastgroup or 0]:
            case "operator", word:
                yield word
            case "text", word:
                yield Literal(word[1:-1].replace("''", "'"))
            case "expression", word:
                yield _read_expression(word)
            case "number", word:
                yield Literal(float(word) if set(word) & set(".eE") else int(word))
            case _, word:
                yield Literal(_CONSTANTS[word])
