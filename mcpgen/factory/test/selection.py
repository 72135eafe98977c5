"""Which tests `-k` means, told as pytest tells it, for those that pytest does not run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

Selection = Callable[[Iterable[str]], bool]
"""Whether a test that has these names is meant."""

_TOKEN = re.compile(r"\s*([()]|[\w:+.\[\]\\/-]+)")


class SelectionError(Exception):
    """An expression cannot be read; says where."""


def selection(expression: str) -> Selection:
    """Read words, `and`, `or`, `not` and parentheses; a word means every name that it is part of.

    Nothing but space means every test.

    Raises:
        SelectionError: it is no such expression.
    """
    if not expression.strip():
        return lambda _: True
    meant = _Reader(expression).whole()
    return lambda names: meant([name.lower() for name in names])


class _Reader:
    """Reads an expression from left to right; each method reads one rule of its grammar."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._at = 0

    def whole(self) -> Selection:
        meant = self._any_of()
        if self._expression[self._at :].strip():
            raise self._error("`and`, `or` or the end")
        return meant

    def _any_of(self) -> Selection:
        meant = [self._all_of()]
        while self._takes("or"):
            meant.append(self._all_of())
        return lambda names: any(each(names) for each in meant)

    def _all_of(self) -> Selection:
        meant = [self._one()]
        while self._takes("and"):
            meant.append(self._one())
        return lambda names: all(each(names) for each in meant)

    def _one(self) -> Selection:
        if self._takes("not"):
            unmeant = self._one()
            return lambda names: not unmeant(names)
        if self._takes("("):
            meant = self._any_of()
            if not self._takes(")"):
                raise self._error("`)`")
            return meant
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
