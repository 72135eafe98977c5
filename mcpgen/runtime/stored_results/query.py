"""Evaluation of a JMESPath expression with a bound on its work.

The library evaluates without bounds: `[@,@]|[@,@]|…` doubles its value with every 6 characters.
"""

from __future__ import annotations

from typing import Any, Final

from jmespath.exceptions import (  # type: ignore[import-untyped]  # it ships no types
    JMESPathError,
    JMESPathTypeError,
)
from jmespath.parser import Parser  # type: ignore[import-untyped]
from jmespath.visitor import Options, TreeInterpreter  # type: ignore[import-untyped]

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.stored_results.parts import MAX_QUERY

MAX_STEPS: Final = 500_000
"""Nodes of the expression that are evaluated; about a second."""
_VISIT: Final = 10  # units of a step; a value that a function reads takes one
_MAX_SHOWN: Final = 300  # characters of an error
_CHARACTERS: Final = 4  # of a text that take a unit
_SHALLOW: Final = frozenset({"length", "not_null", "to_array", "type"})
"""Functions that take a value of any size without a look into it."""


class QueryError(Exception):
    """Raised for a JMESPath expression that is invalid or takes too long; shown to the model."""


def evaluate(expression: str, value: Any) -> Any:
    """Return what a JMESPath expression selects of a JSON value.

    Raises:
        QueryError: it is invalid, does not fit the value, or exceeds a bound.
    """
    if len(expression) > MAX_QUERY:
        raise QueryError(f"`query` is too long: expected at most {MAX_QUERY:,} characters.")
    try:
        parsed = Parser().parse(expression).parsed
        return _Evaluation().run(parsed, value)
    except RecursionError:
        raise QueryError("`query` is nested too deeply.") from None
    except (JMESPathError, ArithmeticError, AttributeError, TypeError, ValueError) as error:
        # The library raises Python's own errors for values that a function does not expect.
        raise QueryError(
            f"`query` is no JMESPath expression for this result: {_describe(error)}"
        ) from None


def _describe(error: Exception) -> str:
    """Return the text of an error on one line.

    That of a wrong type would contain the value, which may be far larger as text than in memory.
    """
    if isinstance(error, JMESPathTypeError):
        expected = " or ".join(map(str, error.expected_types))
        return f"`{error.function_name}` expects {expected}, but got {error.actual_type}"
    return " ".join(str(error).split())[:_MAX_SHOWN]


class _Evaluation:
    """One evaluation: the interpreter of the library, with a count of its work."""

    def __init__(self) -> None:
        self._left = MAX_STEPS * _VISIT
        self._interpreter = TreeInterpreter(Options(custom_functions=self))
        self._functions = TreeInterpreter()._functions  # noqa: SLF001  (those of the library)
        self._visit_of_library = self._interpreter.visit
        self._interpreter.visit = self._visit  # the library calls it for each node

    def run(self, node: JsonObject, value: Any) -> Any:
        """Evaluate a parsed expression."""
        result = self._visit(node, value)
        self._charge_whole(result)  # parts of it may be shared: as text it is longer
        return result

    def call_function(self, name: str, arguments: list[Any]) -> Any:
        """Call a function of the library, after its arguments are counted."""
        for argument in arguments:
            if name not in _SHALLOW:
                self._charge_whole(argument)
        if name == "join" and len(arguments) == 2 and isinstance(arguments[1], list):
            separator = arguments[0]
            length = len(separator) if isinstance(separator, str) else 0
            self._charge(length * len(arguments[1]) // _CHARACTERS)
        return self._functions.call_function(name, arguments)

    def _visit(self, node: JsonObject, value: Any) -> Any:
        self._charge(_VISIT)
        kind = node["type"]
        if kind in {"comparator", "flatten"}:
            node = self._evaluate_operands(node, value)
        elif kind == "slice" and isinstance(value, list):
            self._charge(len(value))
        return self._visit_of_library(node, value)

    def _evaluate_operands(self, node: JsonObject, value: Any) -> JsonObject:
        """Return a node with literals as operands, after they are counted."""
        operands = [self._visit(child, value) for child in node["children"]]
        for operand in operands:
            if node["type"] == "comparator":
                self._charge_whole(operand)
            elif isinstance(operand, list):
                self._charge(sum(len(it) if isinstance(it, list) else 1 for it in operand))
        return {**node, "children": [{"type": "literal", "value": it} for it in operands]}

    def _charge(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            raise QueryError(
                "`query` takes too long for this result: select a part of it first, such as"
                " `items[:100].name`, or read it by `pointer`."
            )

    def _charge_whole(self, value: Any) -> None:
        """Count all values inside of a value, as often as they occur."""
        waiting = [value]
        while waiting:
            each = waiting.pop()
            if isinstance(each, str):
                self._charge(1 + len(each) // _CHARACTERS)
            elif isinstance(each, dict):
                self._charge(1 + 2 * len(each) + sum(map(len, each)) // _CHARACTERS)
                waiting += each.values()
            elif isinstance(each, list):
                self._charge(1 + len(each))
                waiting += each
            else:
                self._charge(1)
