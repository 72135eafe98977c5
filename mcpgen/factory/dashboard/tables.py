"""The tables of the dashboard: servers, clients, and coverage of operations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from mcpgen.factory.dashboard.cells import (
    NO_VALUE,
    WORDS,
    PageContext,
    capitalize,
    find_proof,
    format_age,
    format_proof_age,
    format_state,
    format_track,
    link_evidence,
    link_server,
    make_icon,
)
from mcpgen.factory.html import Html, text
from mcpgen.factory.status.model import (
    ClientCell,
    Fleet,
    Proof,
    Score,
    ServerDetails,
    ServerStatus,
    StageName,
    State,
)
from mcpgen.ir.clients import EFFECTS
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE

_ORDER: Final = {State.FAILED: 0, State.STALE: 1, State.UNKNOWN: 2, State.PASSED: 3}
_DRIFTS: Final = {
    State.PASSED: "current",
    State.FAILED: "failed",
    State.STALE: "changed",
    State.UNKNOWN: "unknown",
}
_EFFECTS: Final = {
    "ok": (State.PASSED, "passed", "ok"),
    "degraded": (State.STALE, "stale", "degraded"),
    "dropped": (State.FAILED, "dropped", "tools dropped"),
    "breaks": (State.FAILED, "failed", "all tools rejected"),
}
_MOST_REASONS: Final = 3


def format_fleet(fleet: Fleet, context: PageContext) -> Html:
    """Return the table of all servers."""
    revisions = sorted({it for server in fleet.servers for it in server.status.scores})
    plain = ("server", "version", "stages", "source", "tools", "tokens")
    after = ("tests", "lint", "published", "owner")
    group = (
        f'<th role="columnheader" scope="colgroup" colspan="{len(revisions) + 1}" class="group">'
        "Score by revision</th>"
        if revisions
        else ""
    )
    heads = "".join(_format_head(name, 2 if revisions else 1) for name in plain)
    tail = "".join(_format_head(name, 2 if revisions else 1) for name in after)
    second = "".join(_format_head(it[2:], 1, "score", it) for it in revisions)
    second = f'<tr role="row">{second}{_format_head("age", 1, "score age")}</tr>' if second else ""
    rows = "".join(_format_server(it, revisions, context) for it in fleet.servers)
    return Html(
        '<div class="scroll"><table role="table" class="stacked fleet" id="fleet">'
        '<caption class="hidden">Servers</caption>'
        f'<thead role="rowgroup"><tr role="row">{heads}{group}{tail}</tr>{second}</thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table></div>'
    )


_COUNTED: Final = ("operations", "with a tool", "excluded", "unmapped")
_NUMBERS: Final = frozenset({"tools", "tokens", *_COUNTED})


def _format_head(name: str, rows: int = 1, kind: str = "", title: str = "") -> str:
    kinds = " ".join(filter(None, (kind, "number" if name in _NUMBERS else "")))
    span = f' rowspan="{rows}"' if rows > 1 else ""
    about = f' title="{text(title)}"' if title else ""
    attribute = f' class="{kinds}"' if kinds else ""
    shown = text(capitalize(name))
    return f'<th role="columnheader" scope="col" data-sort{span}{attribute}{about}>{shown}</th>'


def _format_server(server: ServerDetails, revisions: Sequence[str], context: PageContext) -> str:
    status = server.status
    tested = find_proof(status, StageName.TESTED)
    linted = find_proof(status, StageName.LINTED)
    generated = find_proof(status, StageName.GENERATED)
    worst = min((_ORDER[it.proof.state] for it in status.stages), default=2)
    names = " ".join(tool.name for tool in server.tools)
    head = (
        f'<th role="rowheader" scope="row" data-sort="{text(status.server)}">{link_server(status)}'
        f'<span class="note">{text(status.api)}</span></th>'
    )
    cells = (
        head,
        _cell("version", _format_version(status, context), status.version),
        _cell("stages", _format_stage(status), f"{len(_list_passed(status))}.{worst}"),
        _format_source(status, context),
        _number_cell("tools", status.tools, generated, status, context),
        _number_cell("tokens", status.tokens, generated, status, context),
        *_format_scores(status, revisions, context),
        _proof_cell("tests", tested, status, context, _shorten(tested), _describe_kills(status)),
        _proof_cell("lint", linted, status, context, _shorten(linted), _describe_clients(status)),
        _format_publication(status, context),
        _cell("owner", _format_owners(status, context), " ".join(status.owners)),
    )
    kinds = " ".join(dict.fromkeys(need.kind.name.lower() for need in status.needs))
    return (
        f'<tr role="row" data-tools="{text(names)}" data-needs="{text(kinds)}"'
        f' data-reached="{status.reached.value if status.reached else ""}">{"".join(cells)}</tr>'
    )


def _list_passed(status: ServerStatus) -> list[StageName]:
    return [it.name for it in status.stages if it.proof.state is State.PASSED]


def _cell(name: str, content: str, sort: str = "", kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    head = text(capitalize(name))
    return f'<td role="cell"{attribute} data-head="{head}" data-sort="{text(sort)}">{content}</td>'


def _proof_cell(
    name: str,
    proof: Proof,
    status: ServerStatus,
    context: PageContext,
    word: str = "",
    note: str = "",
) -> str:
    """Return the cell of a proof: its state, a note, its age, and a link to its evidence."""
    shown = link_evidence(format_state(proof.state, word), status, proof, context)
    after = f" · {text(note)}" if note and proof.state is State.PASSED else ""
    age = format_proof_age(proof, context)
    sort = f"{_ORDER[proof.state]}{proof.summary}"
    return _cell(name, f'{shown}<span class="note">{age}{after}</span>', sort)


def _format_source(status: ServerStatus, context: PageContext) -> str:
    drift = status.drift
    if drift.state is State.PASSED and not drift.evidence:  # a server without a document
        return _cell("source", f'{NO_VALUE}<span class="note">{text(drift.summary)}</span>')
    return _proof_cell("source", drift, status, context, _DRIFTS[drift.state])


def _shorten(proof: Proof) -> str:
    """Return the first part of a summary that passed or failed, else the word of the state."""
    if proof.state in (State.PASSED, State.FAILED) and proof.summary:
        return re.split("; |, ", proof.summary)[0]
    return WORDS[proof.state]


def _describe_kills(status: ServerStatus) -> str:
    rate = status.kill_rate
    return "" if rate is None else f"{int(1000 * rate) / 10:g} % of faults"


def _describe_clients(status: ServerStatus) -> str:
    affected = [it for it in status.clients.values() if it.effect != "ok"]
    if not status.clients:
        return ""
    if not affected:
        return f"ok in {len(status.clients)} clients"
    worst = max((it.effect for it in affected), key=_rank_effect)
    return f"{worst} in {len(affected)} client{'' if len(affected) == 1 else 's'}"


def _rank_effect(effect: str) -> int:
    return [*EFFECTS].index(effect) if effect in EFFECTS else len(EFFECTS)


def _format_version(status: ServerStatus, context: PageContext) -> str:
    if not status.version:
        return str(format_state(State.UNKNOWN))
    declared = find_proof(status, StageName.DECLARED)
    return str(link_evidence(text(status.version), status, declared, context))


def _format_stage(status: ServerStatus) -> str:
    reached = status.reached.value if status.reached else "no stage reached"
    return f'{format_track(status)}<span class="note">{text(reached)}</span>'


def _number_cell(
    name: str, value: int | None, proof: Proof, status: ServerStatus, context: PageContext
) -> str:
    if value is None:
        return _cell(name, str(format_state(State.UNKNOWN)), "-1", "number")
    shown = link_evidence(Html(f"{value:,}"), status, proof, context)
    return _cell(name, f"{shown}", str(value), "number")


def _format_scores(
    status: ServerStatus, revisions: Sequence[str], context: PageContext
) -> Iterator[str]:
    proof = find_proof(status, StageName.CONFORMANT)
    for revision in revisions:
        score = status.scores.get(revision)
        if score is None:
            state = proof.state if proof.state in (State.STALE, State.FAILED) else State.UNKNOWN
            shown = link_evidence(_format_sign(state), status, proof, context)
            yield _cell(revision, str(shown), "-1", "number score")
        else:
            yield _cell(
                revision,
                _format_score(score, status, proof, context),
                str(score.score),
                "number score",
            )
    if revisions:
        age = format_age(proof.time, context) if proof.evidence else NO_VALUE
        yield _cell("age", f'<span class="note">{age}</span>', proof.time, "score age")


def _format_sign(state: State) -> Html:
    """Return a state as an icon; its word is hidden text, for assistive technology."""
    return Html(
        f'<span class="state {state.value}" title="{WORDS[state]}">{make_icon(state.value)}'
        f'<span class="hidden">{WORDS[state]}</span></span>'
    )


def _format_score(score: Score, status: ServerStatus, proof: Proof, context: PageContext) -> str:
    has_passed = score.verdict == "PASS"
    state = State.PASSED if has_passed and score.is_reliable else State.STALE
    state = state if has_passed else State.FAILED
    number = f"{'' if score.is_reliable else '~'}{score.score}"
    sign = make_icon(state.value) if state is not State.PASSED else ""
    shown = Html(
        f'<span class="state {state.value}">{sign}<span>{number}</span>'
        f'<span class="hidden">{text(score.verdict)}</span></span>'
    )
    linked = link_evidence(shown, status, proof, context)
    return f'{linked}<span class="note">{int(100 * score.coverage)} %</span>'


def _format_publication(status: ServerStatus, context: PageContext) -> str:
    proof = find_proof(status, StageName.PUBLISHED)
    word = status.published or WORDS[proof.state]
    is_skewed = bool(status.published and status.version and status.published != status.version)
    note = f"local {status.version}" if is_skewed else ""
    shown = link_evidence(format_state(proof.state, word), status, proof, context)
    age = format_proof_age(proof, context)
    after = f" · {text(note)}" if note else ""
    return _cell(
        "published",
        f'{shown}<span class="note">{age}{after}</span>',
        status.published,
    )


def _format_owners(status: ServerStatus, context: PageContext) -> str:
    if not status.owners:
        return '<span class="note">nobody</span>'
    href = text(context.link_root(WORKSPACE_FILE))
    names = text(", ".join(status.owners)).replace("/", "/<wbr>")
    return f'<a href="{href}" title="{WORKSPACE_FILE}">{names}</a>'


def format_matrix(fleet: Fleet, context: PageContext) -> Html:
    """Return what each client does with the tools of each server."""
    checked = {client for server in fleet.servers for client in server.status.clients}
    clients = [it for it in fleet.clients if it in checked] + sorted(checked - {*fleet.clients})
    if not clients:
        return Html(
            '<p class="empty">No current evidence of lint; <code>mcpgen lint</code> records it.</p>'
        )
    heads = "".join(
        f'<th scope="col"><span>{text(fleet.clients.get(it, it))}</span></th>' for it in clients
    )
    rows = "".join(
        f'<tr><th scope="row">{link_server(server.status)}</th>'
        f"{''.join(_format_effect(server.status, it, context) for it in clients)}"
        f"<td>{_format_lint_age(server.status, context)}</td></tr>"
        for server in fleet.servers
    )
    legend = "".join(
        f'<li class="state {state.value}">{make_icon(sign)}<span>{word}</span></li>'
        for state, sign, word in [*_EFFECTS.values(), _NONE]
    )
    return Html(
        f'<ul class="legend">{legend}</ul><div class="scroll" tabindex="0" role="region"'
        ' aria-label="Clients"><table class="matrix"><caption class="hidden">What clients do with'
        f' the tools of each server</caption><thead><tr><th scope="col">Server</th>{heads}'
        f'<th scope="col">Age</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


_NONE: Final = (State.UNKNOWN, "unknown", "unknown")


def _format_effect(status: ServerStatus, client: str, context: PageContext) -> str:
    cell: ClientCell | None = status.clients.get(client)
    unlisted = (State.FAILED, "failed", cell.effect if cell else "")
    state, sign, word = _EFFECTS.get(cell.effect, unlisted) if cell else _NONE
    number = f" {cell.tools:,}" if cell and cell.tools else ""
    title = f' title="{text("; ".join(cell.limits))}"' if cell and cell.limits else ""
    name = f'aria-label="{text(word)}{number}"{title}'
    icon = f'<svg class="icon"><use href="#i-{sign}"/></svg>{number}'
    proof = find_proof(status, StageName.LINTED)
    if not proof.evidence:
        return f'<td class="{state.value}"><span role="img" {name}>{icon}</span></td>'
    href = text(context.link(status.server, proof.evidence))
    return f'<td class="{state.value}"><a href="{href}" {name}>{icon}</a></td>'


def _format_lint_age(status: ServerStatus, context: PageContext) -> Html:
    proof = find_proof(status, StageName.LINTED)
    return format_proof_age(proof, context)


def format_coverage(fleet: Fleet, context: PageContext) -> Html:
    """Return how many operations of each server have a tool, and why the others have none."""
    names = ("server", *_COUNTED, "share", "why", "age")
    heads = "".join(_format_head(it) for it in names)
    rows = "".join(_format_coverage_row(it, context) for it in fleet.servers)
    return Html(
        '<div class="scroll"><table role="table" class="stacked coverage">'
        '<caption class="hidden">Coverage of operations</caption>'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table></div>'
    )


def _format_coverage_row(server: ServerDetails, context: PageContext) -> str:
    status, total = server.status, len(server.operations)
    proof = find_proof(status, StageName.GENERATED)
    served = sum(bool(it.tool) for it in server.operations)
    excluded = sum(it.is_excluded for it in server.operations)
    reasons = Counter(it.reason for it in server.operations if not it.tool)
    why = [f"{text(reason)} ({number:,})" for reason, number in reasons.most_common(_MOST_REASONS)]
    more = len(reasons) - _MOST_REASONS
    why += [f"{more:,} more reasons"] if more > 0 else []
    href = text(context.link(status.server, LOCK_FILE))
    numbers = zip(_COUNTED, (total, served, excluded, total - served - excluded), strict=True)
    width = f"{100 * served / total:.2f}" if total else "0"
    bar = (
        f'<span>{100 * served // total} %</span><svg class="bar" viewBox="0 0 100 4"'
        ' preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="served" width="{width}" height="4"/></svg>'
        if total
        else NO_VALUE
    )
    cells = "".join(
        _cell(name, f'<a href="{href}">{value:,}</a>' if total else NO_VALUE, str(value), "number")
        for name, value in numbers
    )
    return (
        f'<tr role="row"><th role="rowheader" scope="row" data-sort="{text(status.server)}">'
        f"{link_server(status)}</th>{cells}"
        f"{_cell('share', bar, width if total else '-1', 'share')}"
        f"{_cell('why', '; '.join(why) or NO_VALUE, '', 'long')}"
        f"{_cell('age', str(format_age(proof.time, context)), proof.time)}</tr>"
    )
