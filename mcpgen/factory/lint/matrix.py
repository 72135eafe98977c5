"""The matrix of tools and clients: what each client does with each tool, and by which limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from mcpgen.factory.lint.listing import Listing
from mcpgen.ir.client_checks import Excess, iterate_excesses, read_text
from mcpgen.ir.clients import EFFECTS, Client, Effect

WHOLE_SERVER = ""
"""The row of limits that concern no single tool."""


class Cell(Struct, frozen=True):
    """Effect of a client's limits on one tool, and the limits that it exceeds."""

    effect: Effect
    excesses: tuple[Excess, ...] = ()


class Matrix(Struct, frozen=True):
    """All cells; a missing one is "ok"."""

    tools: Sequence[str]  # WHOLE_SERVER first
    clients: Sequence[Client]
    cells: Mapping[tuple[str, str], Cell]  # by tool and client

    def cell(self, tool: str, client: str) -> Cell:
        """Return a cell."""
        return self.cells.get((tool, client), Cell("ok"))


def build_matrix(listing: Listing, clients: Mapping[str, Client]) -> Matrix:
    """Compare the listed tools with the limits of `clients`."""
    found: dict[tuple[str, str], list[Excess]] = {}
    for client in clients.values():
        for limit in client.limit:
            for excess in iterate_excesses(listing.checked, limit):
                found.setdefault((excess.tool, client.id), []).append(excess)
    return Matrix(
        (WHOLE_SERVER, *(read_text(tool, "name") for tool in listing.tools)),
        tuple(clients.values()),
        {key: Cell(find_worst(excesses), tuple(excesses)) for key, excesses in found.items()},
    )


def find_worst(excesses: Sequence[Excess]) -> Effect:
    """Return the worst effect of one or more violations."""
    return max((excess.limit.effect for excess in excesses), key=EFFECTS.index)


def format_matrix_json(matrix: Matrix) -> dict[str, Any]:
    """Return the matrix as JSON; each cell that is not ok names its limits and their sources."""
    return {
        "clients": {client.id: client.title for client in matrix.clients},
        "tools": {
            tool or "(server)": {
                client.id: _format_cell(matrix.cell(tool, client.id), client.id)
                for client in matrix.clients
            }
            for tool in matrix.tools
        },
    }


def _format_cell(cell: Cell, client: str) -> dict[str, Any]:
    limits = [
        {
            "row": f"{client}/{excess.limit.id}",
            "rule": excess.limit.rule,
            "effect": excess.limit.effect,
            "message": excess.message,
            "source": excess.limit.source,
            "verified": excess.limit.verified,
        }
        for excess in cell.excesses
    ]
    return {"effect": cell.effect, "limits": limits} if limits else {"effect": cell.effect}


MARKS: Mapping[Effect, str] = {"ok": ".", "degraded": "d", "dropped": "x", "breaks": "!"}
LEGEND = ". ok   d degraded   x tool dropped   ! all tools rejected"
_LONGEST_NAME = 40
_SHOWN_REASONS = 20


def format_matrix_text(matrix: Matrix) -> list[str]:
    """Return the lines of a table: tools that are not ok everywhere, a legend, and the reasons."""
    shown = [
        tool
        for tool in matrix.tools
        if any(matrix.cell(tool, client.id).effect != "ok" for client in matrix.clients)
    ]
    heads = [str(number) for number, _ in enumerate(matrix.clients, 1)]
    width = max([len("(server)"), *(min(len(tool), _LONGEST_NAME) for tool in shown)])
    lines = [f"{'tool':<{width}}  {' '.join(f'{head:>2}' for head in heads)}"]
    for tool in shown:
        marks = " ".join(
            f"{MARKS[matrix.cell(tool, client.id).effect]:>2}" for client in matrix.clients
        )
        lines.append(f"{(tool or '(server)')[:_LONGEST_NAME]:<{width}}  {marks}")
    fine = len(matrix.tools) - len(shown) - (WHOLE_SERVER not in shown)
    lines.append(f"{fine:,} of {len(matrix.tools) - 1:,} tools are ok in all clients")
    lines += ["", LEGEND]
    names = [f"{head} {client.id}" for head, client in zip(heads, matrix.clients, strict=True)]
    column = max(map(len, names), default=0) + 3
    for start in range(0, len(names), 4):
        lines.append("".join(f"{name:<{column}}" for name in names[start : start + 4]).rstrip())
    return [*lines, *_list_reasons(matrix)]


def _list_reasons(matrix: Matrix) -> list[str]:
    """Return a line for each limit that is exceeded, with its first violation and its source."""
    first: dict[str, tuple[Excess, int]] = {}
    for (_, client), cell in matrix.cells.items():
        for excess in cell.excesses:
            row = f"{client}/{excess.limit.id}"
            shown, count = first.get(row, (excess, 0))
            first[row] = (shown, count + 1)
    lines = [""] if first else []
    for row, (excess, count) in sorted(first.items())[:_SHOWN_REASONS]:
        more = f" and {count - 1:,} more" if count > 1 else ""
        limit = excess.limit
        lines.append(f"{row}: {excess.message}{more}")
        lines.append(f"  {limit.effect}; {limit.source}, {limit.verified}")
    if len(first) > _SHOWN_REASONS:
        lines.append(f"and {len(first) - _SHOWN_REASONS} more; --json has all")
    return lines
