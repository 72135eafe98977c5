"""The head of the dashboard: figures of the fleet, its stages, and the attention queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Final

from mcpgen.factory.dashboard.cells import (
    NO_VALUE,
    WORDS,
    PageContext,
    capitalize,
    find_proof,
    format_age,
    format_command,
    link_server,
    make_icon,
)
from mcpgen.factory.html import Html, text
from mcpgen.factory.status.model import (
    Fleet,
    Need,
    NeedKind,
    Proof,
    ServerStatus,
    StageName,
    State,
    WaiverState,
)

_SOON: Final = timedelta(days=30)
_OPEN_LINES: Final = 20
_FIRST_LINES: Final = 10  # of a kind; the others follow on request
_SIGNS: Final = {
    NeedKind.FAILING: State.FAILED,
    NeedKind.CONFLICT: State.FAILED,
    NeedKind.BREAKING: State.STALE,
    NeedKind.WAIVER_EXPIRED: State.FAILED,
    NeedKind.REGENERATE: State.STALE,
    NeedKind.STALE: State.STALE,
    NeedKind.UNKNOWN: State.UNKNOWN,
    NeedKind.WAIVED: State.STALE,
    NeedKind.READY: State.PASSED,
}
_TITLES: Final = {
    NeedKind.FAILING: "Failing",
    NeedKind.CONFLICT: "Generated file edited by hand",
    NeedKind.BREAKING: "Breaking change to approve",
    NeedKind.WAIVER_EXPIRED: "Waiver expired",
    NeedKind.REGENERATE: "To be regenerated",
    NeedKind.STALE: "Stale evidence",
    NeedKind.UNKNOWN: "Never checked",
    NeedKind.WAIVED: "Waived findings",
    NeedKind.READY: "Ready to publish",
}


def format_figures(fleet: Fleet, context: PageContext) -> Html:
    """Return the figures of the fleet."""
    statuses = [it.status for it in fleet.servers]
    stale = [it for it in statuses if it.drift.state in (State.STALE, State.FAILED)]
    unknown = [it for it in statuses if it.drift.state is State.UNKNOWN]
    expiring = [it for status in statuses for it in status.waivers if _is_expiring(it, context)]
    expired = sum(it.is_expired for status in statuses for it in status.waivers)
    tiles = [
        _tile("Servers", f"{len(statuses):,}"),
        _tile("Tools", *_sum([it.tools for it in statuses])),
        _tile("Tokens of all lists", *_sum([it.tokens for it in statuses])),
        _find_lowest_score(statuses),
        _tile(
            "Stale documents",
            f"{len(stale):,}",
            f"{len(unknown):,} unknown" if unknown else "",
            "stale" if stale else "",
        ),
        _tile(
            "Waivers expiring in 30 days",
            f"{len(expiring):,}",
            f"{expired:,} expired" if expired else "",
            "failed" if expired else "stale" if expiring else "",
        ),
    ]
    return Html(f'<dl class="figures">{"".join(tiles)}</dl>')


def _tile(title: str, value: str, note: str = "", state: str = "") -> Html:
    sign = make_icon(state) if state else ""
    below = f'<span class="note">{text(note)}</span>' if note else ""
    shown = f'<dd class="{state}">{sign}<b>{text(value)}</b>{below}</dd>'
    return Html(f"<div><dt>{text(title)}</dt>{shown}</div>")


def _sum(values: Sequence[int | None]) -> tuple[str, str]:
    unknown = sum(value is None for value in values)
    known = sum(value for value in values if value is not None)
    return f"{known:,}", f"{unknown:,} unknown" if unknown else ""


def _find_lowest_score(statuses: Sequence[ServerStatus]) -> Html:
    scores = [
        (score.score, status.server, revision)
        for status in statuses
        for revision, score in status.scores.items()
    ]
    without = sum(not status.scores for status in statuses)
    note = f"{without:,} without a current score" if without else ""
    if not scores:
        return _tile("Lowest score", NO_VALUE, note, "unknown")
    value, server, revision = min(scores)
    return _tile(
        "Lowest score", f"{value}", f"{server}, {revision}" + (f"; {note}" if note else "")
    )


def _is_expiring(waiver: WaiverState, context: PageContext) -> bool:
    if waiver.is_expired or context.now is None:
        return False
    try:
        return date.fromisoformat(waiver.expires) - context.now.date() <= _SOON
    except ValueError:
        return False


def format_stages(fleet: Fleet) -> Html:
    """Return how many servers are in which state of each stage."""
    items = []
    for name in StageName:
        counts = Counter(find_proof(it.status, name).state for it in fleet.servers)
        summary = ", ".join(
            f"{counts[state]:,} {WORDS[state]}"
            for state in (State.FAILED, State.STALE, State.UNKNOWN)
            if counts[state]
        )
        at = sum(it.status.reached is name for it in fleet.servers)
        items.append(
            f"<li><h3>{capitalize(name.value)}</h3><p><b>{counts[State.PASSED]:,}</b> passed</p>"
            f"{_format_bar(counts, len(fleet.servers))}"
            f'<p class="note">{text(summary or "all of them")}</p>'
            f'<p class="note">{at or "none"} at this stage</p></li>'
        )
    return Html(f'<ol class="stages" aria-label="Servers by stage">{"".join(items)}</ol>')


def _format_bar(counts: Counter[State], total: int) -> Html:
    """Return a bar of the shares; the words below it state the same."""
    left, parts = 0.0, []
    for state in State:
        width = 100 * counts[state] / total if total else 0
        if width:
            parts.append(
                f'<rect class="{state.value}" x="{left:.2f}" width="{width:.2f}" height="4"/>'
            )
        left += width
    return Html(
        '<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def format_queue(fleet: Fleet, context: PageContext) -> Html:
    """Return the attention queue: a table of lines for each kind, the most urgent kind first."""
    lines: dict[NeedKind, list[tuple[ServerStatus, Need]]] = {}
    for server in fleet.servers:
        for need in server.status.needs:
            lines.setdefault(need.kind, []).append((server.status, need))
    if not lines:
        return Html(f'<p class="empty">{make_icon("passed")} Nothing needs attention.</p>')
    return Html("".join(_format_kinds(lines, context)))


def _format_kinds(
    lines: dict[NeedKind, list[tuple[ServerStatus, Need]]], context: PageContext
) -> Iterator[str]:
    shown = 0
    for kind in NeedKind:
        found = lines.get(kind, [])
        if not found:
            continue
        is_open = shown == 0 or shown + len(found) <= _OPEN_LINES
        shown += len(found)
        state = _SIGNS[kind]
        rows = [_format_need(status, need, context) for status, need in found]
        yield (
            f'<details class="queue"{" open" if is_open else ""}><summary>'
            f'<span class="state {state.value}">{make_icon(state.value)}'
            f"<span>{_TITLES[kind]}</span></span>"
            f'<span class="count">{len(found):,}</span></summary>'
            f"{_format_lines(kind, rows[:_FIRST_LINES])}{_format_rest(kind, rows[_FIRST_LINES:])}"
            "</details>"
        )


def _format_rest(kind: NeedKind, rows: list[str]) -> str:
    if not rows:
        return ""
    lines = _format_lines(kind, rows)
    return f'<details class="rest"><summary>{len(rows):,} more</summary>{lines}</details>'


def _format_lines(kind: NeedKind, rows: list[str]) -> str:
    heads = "".join(
        f'<th role="columnheader" scope="col">{name}</th>'
        for name in ("Server", "What", "Evidence", "Command")
    )
    return (
        '<div class="scroll"><table role="table" class="stacked needs">'
        f'<caption class="hidden">{_TITLES[kind]}</caption>'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table></div>'
    )


def _format_need(status: ServerStatus, need: Need, context: PageContext) -> str:
    evidence = Html("")
    if need.evidence:
        href = text(context.link(status.server, need.evidence))
        name = need.evidence.rpartition("/")[2]
        evidence = Html(
            f'<a href="{href}">{text(name)}</a> {_format_need_age(status, need, context)}'
        )
    return (
        f'<tr role="row"><th role="rowheader" scope="row">{link_server(status)}</th>'
        f'<td role="cell" data-head="What">{text(need.message)}</td>'
        f'<td role="cell" data-head="Evidence">{evidence}</td>'
        f'<td role="cell" data-head="Command">{format_command(need.command)}</td></tr>'
    )


def _format_need_age(status: ServerStatus, need: Need, context: PageContext) -> Html:
    proofs: list[Proof] = [*(stage.proof for stage in status.stages), status.drift]
    found = (proof.time for proof in proofs if proof.evidence == need.evidence and proof.time)
    return format_age(next(found, ""), context)
