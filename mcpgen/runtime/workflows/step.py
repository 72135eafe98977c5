"""Outcome of one step of a workflow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.values import value_at
from mcpgen.runtime.tools.outcome import ToolOutcome


@dataclass(frozen=True, slots=True)
class Step:
    """Outcome of a step: no run if skipped, one run, or one run for each item."""

    runs: tuple[ToolOutcome, ...] = ()
    is_repeated: bool = False

    def get(self, pointer: str = "") -> Any:
        """Return the value at a JSON Pointer of the response; ABSENT if there is none.

        Of a step that ran for several items it is a list, without what is absent.
        """
        return self._each(value_at(run.value, pointer) for run in self.runs)

    def header(self, name: str) -> Any:
        """Return a header of the response, or ABSENT."""
        return self._each(run.header(name) for run in self.runs)

    @property
    def status(self) -> Any:
        """The status of the response; ABSENT where no request was sent."""
        return self._each(ABSENT if run.status is None else run.status for run in self.runs)

    def _each(self, values: Iterable[Any]) -> Any:
        found = [value for value in values if value is not ABSENT]
        if self.is_repeated:
            return found
        return found[0] if found else ABSENT
