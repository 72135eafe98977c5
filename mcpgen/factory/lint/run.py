"""One run of lint: from the listing of a server and the settings to a report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Severity
from mcpgen.factory.lint.findings import RULES, AffectedClient, Finding, flag
from mcpgen.factory.lint.glama import ServerGrade, grade_server
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.matrix import Matrix, build_matrix
from mcpgen.factory.lint.pins import ServerPins, check_pins
from mcpgen.factory.lint.rules import descriptions, names, schemas, size, texts
from mcpgen.factory.lint.settings import Settings
from mcpgen.factory.tool_costs import ToolCost, measure_tool
from mcpgen.ir.client_checks import Excess
from mcpgen.ir.clients import EFFECTS, Effect, read_clients

_RANKS = (Severity.NOTE, Severity.WARNING, Severity.ERROR)


class Report(Struct, frozen=True):
    """The result of a run."""

    listing: Listing
    findings: tuple[Finding, ...]  # worst first
    matrix: Matrix  # of all known clients
    grade: ServerGrade | None
    costs: tuple[ToolCost, ...]

    @property
    def has_findings(self) -> bool:
        """Whether an error or a warning was found that is not waived."""
        return any(finding.fails for finding in self.findings)


def lint(
    listing: Listing,
    settings: Settings,
    *,
    pins: ServerPins | None = None,
    foreign: Mapping[str, Collection[str]] | None = None,
) -> Report:
    """Check a server. `pins` are its reviewed definitions, `foreign` the tools of other servers."""
    matrix = build_matrix(listing, read_clients())
    found = [*_check_everywhere(listing, settings, foreign or {})]
    if settings.is_portable:
        found += _check_profile(listing, is_strict=settings.is_strict)
    if pins is not None:
        found += check_pins(listing, pins)
    if listing.has_unknown_tools:
        message = "tools of `handlers/` are not in the files of the project, and were not checked"
        found.append(flag("unlisted-tools", message, help="lint the server with --start"))
    found = [_name_clients(finding, matrix) for finding in found]
    found += _report_excesses(matrix, settings, found)
    order = {name: number for number, name in enumerate(matrix.tools)}
    placed = [replace(each, at=listing.places.get(each.tool)) for each in found]
    placed.sort(
        key=lambda each: (
            -_RANKS.index(each.severity),
            [*RULES].index(each.rule),
            order.get(each.tool, len(order)),
            each.tool,
            each.tokens,
            each.message,
        )
    )
    return Report(
        listing,
        tuple(dict.fromkeys(placed)),
        matrix,
        grade_server(listing),
        tuple(map(measure_tool, listing.tools)),
    )


def _check_everywhere(
    listing: Listing, settings: Settings, foreign: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Check what depends on no client."""
    yield from names.check_duplicates(listing)
    yield from descriptions.check_descriptions(listing)
    yield from descriptions.check_markup(listing)
    yield from descriptions.check_annotations(listing)
    yield from schemas.check_schemas(listing)
    yield from size.check_token_budget(listing, settings.budget)
    yield from texts.check_signals(listing)
    yield from texts.check_secrets(listing)
    yield from texts.check_mentions(listing, foreign)
    yield from texts.check_shadowing(listing, foreign)


def _check_profile(listing: Listing, *, is_strict: bool) -> Iterator[Finding]:
    """Check the portable profile."""
    yield from names.check_names(listing)
    yield from descriptions.check_description_lengths(listing)
    yield from schemas.check_portable_schemas(listing, is_strict=is_strict)
    yield from size.check_tool_count(listing)


def _name_clients(finding: Finding, matrix: Matrix) -> Finding:
    """Return a finding with the clients that it concerns, and the severity that follows.

    An error is what a client drops or rejects; model APIs alone make it a warning, since clients
    often send them other schemas.
    """
    affected = []
    for client in matrix.clients:
        for excess in matrix.cell(finding.tool, client.id).excesses:
            if _is_same(finding, excess):
                affected.append((client, excess.limit))
                break
    if not affected:
        return finding
    affected.sort(key=lambda each: each[0].is_api)  # users meet clients first
    worst = _find_worst(limit.effect for client, limit in affected if not client.is_api)
    severity = Severity.ERROR if worst in ("dropped", "breaks") else Severity.WARNING
    return replace(
        finding,
        clients=tuple(AffectedClient(client.id, limit) for client, limit in affected),
        severity=max(severity, finding.severity, key=_RANKS.index),
    )


def _is_same(finding: Finding, excess: Excess) -> bool:
    if excess.feature:
        return excess.feature == finding.detail
    return excess.limit.rule == finding.rule


def _find_worst(effects: Iterable[Effect]) -> Effect:
    return max(effects, key=EFFECTS.index, default="ok")


def _report_excesses(
    matrix: Matrix, settings: Settings, found: Sequence[Finding]
) -> Iterator[Finding]:
    """Report the limits of chosen clients, except those that other findings name."""
    known = {
        (finding.tool, each.client, each.limit.id) for finding in found for each in finding.clients
    }
    grouped: dict[tuple[str, str, str], list[tuple[AffectedClient, Excess]]] = {}
    for client in settings.clients:
        for tool in matrix.tools:
            for excess in matrix.cell(tool, client).excesses:
                if (tool, client, excess.limit.id) not in known:
                    row = (AffectedClient(client, excess.limit), excess)
                    grouped.setdefault((tool, excess.limit.rule, excess.message), []).append(row)
    for (tool, rule, message), rows in grouped.items():
        worst = _find_worst(affected.limit.effect for affected, _ in rows)
        yield flag(
            rule,
            message,
            tool=tool,
            tokens=rows[0][1].tokens,
            detail=rows[0][1].feature or rule,
            clients=tuple(affected for affected, _ in rows),
            severity=Severity.WARNING if worst == "degraded" else Severity.ERROR,
        )
