"""The status of servers: aligned and coloured on a terminal, else one line for each fact."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.factory.status.age import describe_age
from mcpgen.factory.status.examine import is_in_order, list_deciding_proofs
from mcpgen.factory.status.model import OPTIONAL_STAGES, Proof, ServerStatus, State
from mcpgen.text.counts import format_count

_COLOURS: Final = {
    State.PASSED: "32",
    State.FAILED: "31",
    State.STALE: "33",
    State.UNKNOWN: "2",
}
_WORST_FIRST: Final = (State.FAILED, State.STALE, State.UNKNOWN)
_NO_VALUE: Final = "-"
_SOURCE: Final = ("source",)  # the summary of a drift says so


def show_server(printer: Printer, status: ServerStatus, now: datetime) -> None:
    """Print the stages of one server, and its needs."""
    figures = [f"{visible(status.name)} {visible(status.version)}".rstrip()]
    figures += [visible(status.api)] if status.api else []
    if status.tools is not None and status.tokens is not None:
        figures += [format_count(status.tools, "tool"), f"{status.tokens:,} tokens"]
    proofs = [(stage.name.value, stage.proof) for stage in status.stages]
    proofs.append(("drift", status.drift))
    printer.result(", ".join(figures))
    if _has_columns(printer):
        rows = [
            [name, proof.state.value, _summarize(proof), describe_age(proof.time, now)]
            for name, proof in proofs
        ]
        head = ["stage", "state", "result", "checked"]
        _print_columns(printer, [head, *rows], [None, *(proof.state for _, proof in proofs)])
    else:
        for name, proof in proofs:
            age = describe_age(proof.time, now)
            line = f"{name}: {proof.state.value}: {_summarize(proof)}"
            printer.result(f"{line} ({age})" if age else line)
    for need in status.needs:
        printer.result(f"{need.kind.value}: {visible(need.message)}")
        printer.result(f"  run `{visible(need.command)}`")


def show_servers(printer: Printer, servers: Sequence[ServerStatus], now: datetime) -> None:
    """Print a line for each server of a workspace, with the next command."""
    rows = [_list_cells(status, now) for status in servers]
    if _has_columns(printer):
        head = ["server", "stage", "state", "drift", "checked", "next"]
        states: list[State | None] = [None, *(_find_state(status) for status in servers)]
        _print_columns(printer, [head, *rows], states, coloured=2)
    else:
        for server, stage, state, drift, age, command in rows:
            parts = [f"stage {stage}", state, f"drift {drift}", f"checked {age}", f"next {command}"]
            printer.result(f"{server}: {'; '.join(it for it in parts if not it.endswith(' -'))}")
    counts = Counter(map(_find_state, servers))
    parts = [format_count(len(servers), "server"), f"{counts[State.PASSED]:,} in order"]
    parts += [f"{counts[it]:,} {it.value}" for it in _WORST_FIRST if counts[it]]
    printer.result(", ".join(parts))


def _list_cells(status: ServerStatus, now: datetime) -> list[str]:
    return [
        visible(status.server),
        status.reached.value if status.reached else _NO_VALUE,
        _describe_state(status),
        _describe_drift(status.drift),
        _describe_oldest(status, now) or _NO_VALUE,
        visible(status.needs[0].command) if status.needs else _NO_VALUE,
    ]


def _describe_drift(drift: Proof) -> str:
    if drift.state is State.PASSED:
        return "none"
    return visible(drift.summary) if drift.changed == _SOURCE else drift.state.value


def _find_state(status: ServerStatus) -> State:
    """Return the worst state that counts."""
    if is_in_order(status):
        return State.PASSED if is_in_order(status, is_strict=True) else State.UNKNOWN
    states = {proof.state for proof in list_deciding_proofs(status).values()}
    return State.STALE if State.STALE in states and State.FAILED not in states else State.FAILED


def _describe_state(status: ServerStatus) -> str:
    """Return the worst state, and its stages: "stale: linted, tested"."""
    state = _find_state(status)
    if state is State.PASSED:
        return "in order"
    names = [
        name
        for name, proof in list_deciding_proofs(status).items()
        if proof.state is state and not (state is State.UNKNOWN and name in OPTIONAL_STAGES)
    ]
    return f"{state.value}: {', '.join(names)}" if names else state.value


def _describe_oldest(status: ServerStatus, now: datetime) -> str:
    """Return the age of the oldest evidence; "" if no age is known."""
    times = [stage.proof.time for stage in status.stages if stage.proof.time]
    return describe_age(min(times), now) if times else ""


def _summarize(proof: Proof) -> str:
    summary = visible(proof.summary)
    if proof.changed and proof.changed != _SOURCE:
        return f"{summary}; changed since: {', '.join(map(visible, proof.changed))}"
    return summary


def _has_columns(printer: Printer) -> bool:
    return printer.stdout.isatty()


def _print_columns(
    printer: Printer,
    rows: Sequence[Sequence[str]],
    states: Sequence[State | None],
    *,
    coloured: int = 1,
) -> None:
    """Print rows in columns; `states` colour the column `coloured`, except in the first row."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row, state in zip(rows, states, strict=True):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        cells[-1] = row[-1]
        if state is not None:
            cells[coloured] = _paint(cells[coloured], state)
        printer.result("  ".join(cells).rstrip())


def _paint(text: str, state: State) -> str:
    """Return text in the colour of a state, unless the user or the system has no colours."""
    if os.environ.get("NO_COLOR") or sys.platform == "win32":
        return text
    return f"\x1b[{_COLOURS[state]}m{text}\x1b[0m"
