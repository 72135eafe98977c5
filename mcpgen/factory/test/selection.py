"""Selection of tests by pytest's `-k` expressions, for tests that pytest does not run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

Selection = Callable[[Iterable[str]], bool]
"""Returns whether a test with these names is selected."""

_TOKEN = re.compile(r"\s*([()]|[\w:+.\[\]\\/-]+)")


class SelectionError(Exception):
    """An invalid expression."""


def parse_selection(expression: str) -> Selection:
    """Parse words, `and`, `or`, `not` and parentheses; a word selects all names that contain it.

    An empty expression selects every test.

    Raises:
        SelectionError: the expression is invalid.
    """
    if not expression.strip():
        return lambda _: True
    selects = _Parser(expression).parse()
    return lambda names: selects([name.lower() for name in names])


class _Parser:
    """A parser with one method for each rule of the grammar."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._at = 0

    def parse(self) -> Selection:
        selects = self._any_of()
        if self._expression[self._at :].strip():
            raise self._error("`and`, `or` or the end")
        return selects

    def _any_of(self) -> Selection:
        selects = [self._all_of()]
        while self._takes("or"):
            selects.append(self._all_of())
        return lambda names: any(each(names) for each in selects)

    def _all_of(self) -> Selection:
        selects = [self._one()]
        while self._takes("and"):
            selects.append(self._one())
        return lambda names: all(each(names) for each in selects)

    def _one(self) -> Selection:
        if self._takes("not"):
            other = self._one()
            return lambda names: not other(names)
        if self._takes("("):
            selects = self._any_of()
            if not self._takes(")"):
                raise self._error("`)`")
            return selects
        word = self._next()
        if word in {"", ")", "and", "or"}:
            raise self._error("a word, `not` or `(`")
        self._takes(word)
        return lambda names: any(word.lower() in name for name in names)

    def _next(self) -> str:
        found = _TOKEN.match(self._expression, self._at)
        return found[1] if found else ""

    def _takes(self, token: str) -> bool:
        found = _TOKEN.match(self._expression, self._at)
        if found is None or found[1] != token:
            return False
        self._at = found.end()
        return True

    def _error(self, expected: str) -> SelectionError:
        rest = self._expression[self._at :].strip()
        found = f"`{rest}`" if rest else "the end"
        return SelectionError(f"`{self._expression}`: expected {expected}, found {found}")
