"""Results for parameters, which the operations of an API share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from mcpgen.ir.api import Parameter
from mcpgen.jsonschema.shared_bounds import BoundedResults, SharedBounds

Value = TypeVar("Value")


class ParameterResults(Generic[Value]):
    """Results that are made once for each parameter, however many operations it belongs to."""

    def __init__(self, bounds: SharedBounds) -> None:
        self._results: BoundedResults[tuple[int, Hashable], tuple[Parameter, Value]]
        self._results = BoundedResults(bounds)

    def get(self, parameter: Parameter, detail: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result for a parameter and a detail; an exception of `make` is not kept."""
        # The parameter is stored, so that no other one gets its identity.
        found = self._results.get((id(parameter), detail), lambda: (parameter, make()))
        return found[1]
