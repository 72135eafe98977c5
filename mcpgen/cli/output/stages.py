"""Display of the stages of a run: what each found, and its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import StageNote
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_MOST_NAMED = 3
_NAMED_PART = 0.1  # of the whole time: a stage that takes less is not named in the record


@dataclass(slots=True)
class Stage:
    """One stage: when it began on the clock, and how long it took."""

    name: str
    began: float
    note: str = ""
    seconds: float | None = None  # None: it runs

    def describe(self) -> str:
        """Describe an ended stage on one line: "load a.yaml: OpenAPI 3.1, 24 kB, in 0.02s"."""
        found = f": {self.note}," if self.note else ""
        return visible(f"{self.name}{found} in {self.seconds or 0:.2f}s")


class Stages:
    """The stages of a run, in order; a `Progress` that the pipeline calls.

    `ended` is called with each stage that ends.
    """

    def __init__(
        self, ended: Callable[[Stage], None] | None = None, clock: Callable[[], float] | None = None
    ) -> None:
        self.stages: list[Stage] = []
        self.has_failed = False
        self._ended = ended
        self._clock = clock or time.perf_counter

    def __call__(self, text: str) -> None:
        """Begin a stage, or replace the note of the current one."""
        if not isinstance(text, StageNote):
            self._end()
            self.stages.append(Stage(text, self._clock()))
        elif self.stages:
            self.stages[-1].note = text

    @contextmanager
    def run(self) -> Iterator[None]:
        """End the last stage at the exit; it failed if there is an exception."""
        try:
            yield
        except BaseException:
            self.has_failed = True
            raise
        finally:
            self._end()

    @contextmanager
    def pause_clock(self) -> Iterator[None]:
        """Stop the clock while the user answers a question."""
        began = self._clock()
        try:
            yield
        finally:
            if self.stages:
                self.stages[-1].began += self._clock() - began

    def record(self) -> str:
        """Describe an ended run on one line, with the stages that took most of its time."""
        total = sum(stage.seconds or 0 for stage in self.stages)
        slowest = sorted(self.stages, key=lambda it: it.seconds or 0)[-_MOST_NAMED:]
        slow = [it for it in slowest[::-1] if (it.seconds or 0) >= total * _NAMED_PART]
        named = ", ".join(f"{it.name.split()[0]} {it.seconds or 0:.2f}s" for it in slow)
        return visible(f"{format_count(len(self.stages), 'stage')} in {total:.2f}s: {named}")

    def render(self, running: RenderableType) -> RenderableType:
        """Lay the stages out for a terminal; `running` marks the current one."""
        from rich.text import Text

        table = self._table()
        for number, stage in enumerate(self.stages):
            is_last = number == len(self.stages) - 1
            mark: RenderableType
            if stage.seconds is None:
                mark = running
            elif self.has_failed and is_last:
                mark = Text("✗", "bold red")
            else:
                mark = Text("✓", "green")
            seconds = self._clock() - stage.began if stage.seconds is None else stage.seconds
            note = Text(visible(stage.note), "dim")
            table.add_row(mark, Text(visible(stage.name)), note, Text(f"{seconds:.2f}s", "dim"))
        return table

    def _table(self) -> Table:
        from rich.table import Table

        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=36)
        table.add_column(no_wrap=True, overflow="ellipsis")
        table.add_column(justify="right", no_wrap=True)
        return table

    def _end(self) -> None:
        if self.stages and self.stages[-1].seconds is None:
            stage = self.stages[-1]
            stage.seconds = self._clock() - stage.began
            if self._ended is not None:
                self._ended(stage)
