"""A cache of results that share a time limit, and a record of those that depended on it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_MISSING: Final = object()


class SharedBounds:
    """A record of whether a result depended on a time limit that several results share.

    Such limits are for a whole document: the results before decide how much time is left.
    """

    def __init__(self) -> None:
        self.has_mattered = False  # reset it before the results that it is wanted for


class BoundedResults(Generic[Key, Value]):
    """Results that are made once for each key; a bound that mattered for one is noted each time."""

    def __init__(self, bounds: SharedBounds) -> None:
        self._bounds = bounds
        self._made: dict[Key, Value] = {}
        self._bounded: set[Key] = set()  # those of `_made` for which a shared bound mattered

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the result for a key; an exception of `make` is not kept."""
        found: Any = self._made.get(key, _MISSING)
        if found is _MISSING:
            bounds = self._bounds
            mattered_before, bounds.has_mattered = bounds.has_mattered, False
            try:
                found = self._made[key] = make()
            finally:
                if bounds.has_mattered:
                    self._bounded.add(key)
                bounds.has_mattered |= mattered_before
        elif self._bounded and key in self._bounded:
            self._bounds.has_mattered = True
        result: Value = found
        return result
