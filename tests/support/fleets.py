"""Made-up fleets for the dashboard, with every state of every stage."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

from mcpgen.factory.status.model import (
    ClientCell,
    Fleet,
    Need,
    NeedKind,
    Operation,
    Proof,
    Score,
    ServerDetails,
    ServerStatus,
    Stage,
    StageName,
    State,
    Tool,
    WaiverState,
)
from mcpgen.factory.wire.session import REVISIONS
from mcpgen.ir.clients import read_clients

NOW: Final = datetime(2026, 11, 24, 10, 20, tzinfo=UTC)
_APIS: Final = (
    "Accounts", "Billing", "Bookings", "Catalogue", "Contacts", "Documents", "Fleet telemetry",
    "Inventory", "Invoices", "Ledger", "Loyalty", "Messaging", "Notifications", "Orders",
    "Payments", "Payroll", "Pricing", "Search", "Shipping", "Support", "Tax", "Warehouse",
)  # fmt: skip
_OWNERS: Final = ("@shop/billing", "@shop/core", "@shop/growth", "ops@shop.example", "@ines", "")
_FILES: Final = {
    StageName.DECLARED: "mcpgen.yaml",
    StageName.GENERATED: "mcpgen.lock",
    StageName.LINTED: ".mcpgen/evidence/lint.json",
    StageName.TESTED: ".mcpgen/evidence/tests.json",
    StageName.CONFORMANT: ".mcpgen/evidence/validate.json",
    StageName.LIVE: ".mcpgen/evidence/live.json",
    StageName.PACKAGED: ".mcpgen/evidence/bundle.json",
    StageName.PUBLISHED: ".mcpgen/evidence/published.json",
}
_COMMANDS: Final = {
    StageName.DECLARED: "mcpgen new openapi.yaml {}",
    StageName.GENERATED: "mcpgen generate {}",
    StageName.LINTED: "mcpgen lint {}",
    StageName.TESTED: "mcpgen test {} --mutate",
    StageName.CONFORMANT: "mcpgen validate {}",
    StageName.LIVE: "mcpgen test {} --upstream live",
    StageName.PACKAGED: "mcpgen bundle {}",
    StageName.PUBLISHED: "git tag {}",
}


@cache
def make_fleet(servers: int = 200, *, seed: int = 1) -> Fleet:
    """Return a fleet; the same numbers result in the same fleet."""
    chance = random.Random(seed)
    found = [_make_server(number, chance) for number in range(servers)]
    clients = {it.id: it.title for it in read_clients().values() if not it.is_api}
    return Fleet("shop-servers", "shop-servers", tuple(found), clients, _format(NOW))


def _format(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _make_server(number: int, chance: random.Random) -> ServerDetails:
    api = _APIS[number % len(_APIS)]
    slug = api.lower().replace(" ", "-")
    edition = number // len(_APIS)
    name = f"{slug}-mcp" if edition == 0 else f"{slug}-{edition + 1}-mcp"
    server = f"servers/{name}"
    health = chance.random()
    stages = tuple(_make_stage(it, server, health, chance) for it in StageName)
    states = {it.name: it.proof.state for it in stages}
    tools = _make_tools(slug, chance)
    left_out = [
        Operation(f"DELETE /{slug}/{at}", "", "excluded by `select`", is_excluded=True)
        for at in range(chance.choice((0, 0, 0, 3, 8)))
    ]
    if chance.random() < 0.2:
        left_out.append(Operation(f"POST /{slug}/files", "", "no media type can be sent"))
    owner = chance.choice(_OWNERS)
    is_scored = states[StageName.CONFORMANT] in (State.PASSED, State.FAILED)
    waivers = (
        (
            WaiverState(
                "description-short",
                "The API's owner rewrites the texts in December.",
                owner or "@shop/core",
                chance.choice(("2026-11-01", "2026-12-05", "2027-03-31")),
                chance.random() < 0.2,
                4,
            ),
        )
        if chance.random() < 0.1
        else ()
    )
    version = f"{chance.randint(1, 3)}.{chance.randint(0, 9)}.0"
    drift = chance.choice([State.PASSED] * 7 + [State.STALE, State.UNKNOWN])
    status = ServerStatus(
        server=server,
        name=name,
        api=f"{api} API",
        version=version,
        owners=(owner,) if owner else (),
        stages=stages,
        reached=_find_reached(stages),
        source=f"https://api.shop.example/{slug}/openapi.yaml",
        drift=Proof(
            state=drift,
            summary="the source is what was fetched" if drift is State.PASSED else "it has changed",
            evidence="" if drift is State.UNKNOWN else ".mcpgen/evidence/source.json",
            time=_time(chance),
            command="" if drift is State.PASSED else f"mcpgen pull {server}",
        ),
        tools=len(tools),
        tokens=sum(it.tokens for it in tools),
        scores=_make_scores(states[StageName.CONFORMANT], chance) if is_scored else {},
        kill_rate=chance.choice((1.0, 0.968, 0.951, None)),
        clients=_make_clients(chance) if states[StageName.LINTED] is State.PASSED else {},
        published={State.PASSED: version, State.FAILED: "0.9.0"}.get(
            states[StageName.PUBLISHED], ""
        ),
        waivers=waivers,
        needs=tuple(_list_needs(server, stages, drift, waivers)),
    )
    operations = [Operation(it.operation, it.name) for it in tools]
    return ServerDetails(
        status=status,
        tools=tuple(tools),
        operations=(*operations, *left_out),
        findings=(
            {
                "rule": "description-short",
                "severity": "note",
                "message": "A description has 40 characters at least.",
                "help": "say what the tool does",
                "count": 4,
            },
        ),
        requirements={
            revision: {
                "score": it.score, "coverage": it.coverage, "verdict": it.verdict,
                "reliable": it.is_reliable, "passed": 50, "failed": int(it.verdict == "FAIL"),
                "untested": 2, "not_applicable": 19, "undecided": ["cancelled-call-unanswered"],
                "findings": ["parse-error"] if it.verdict == "FAIL" else [],
            }
            for revision, it in status.scores.items()
        },
        history=(
            {"check": "tests", "time": _time(chance), "outcome": "passed", "result": "450 passed"},
            {"check": "lint", "time": _time(chance), "outcome": "failed", "result": "2 errors"},
        ),
        install={
            "claude-code": '{\n  "mcpServers": {"' + slug + '": {"command": "' + name + '"}}\n}\n',
            "cursor": '{\n  "mcpServers": {"' + slug + '": {"command": "' + name + '"}}\n}\n',
            "codex": f'[mcp_servers.{slug}]\ncommand = "{name}"\n',
        },
    )  # fmt: skip


def _time(chance: random.Random) -> str:
    return _format(NOW - timedelta(minutes=chance.choice((4, 50, 300, 2_000, 9_000, 90_000))))


def _make_stage(name: StageName, server: str, health: float, chance: random.Random) -> Stage:
    if name is StageName.DECLARED or health > 0.45:
        weights = (96, 1, 1, 2)
    elif health > 0.12:
        weights = (55, 8, 20, 17)
    else:
        weights = (10, 8, 10, 72)
    state = chance.choices(list(State), weights)[0]
    if name is StageName.LIVE and chance.random() < 0.6:
        state = State.UNKNOWN
    if name is StageName.DECLARED:
        state = State.PASSED
    said = {
        StageName.LINTED: ("5 notes", "2 errors, 5 notes"),
        StageName.TESTED: ("450 passed; 188 of 188 faults found", "3 failed, 447 passed"),
        StageName.CONFORMANT: ("100 in 5 revisions", "59 to 88 in 5 revisions"),
    }.get(name, ("as recorded", "differs from what is recorded"))
    is_known = state is not State.UNKNOWN
    summary = {
        State.PASSED: said[0],
        State.FAILED: said[1],
        State.STALE: f"{said[0]}, of other inputs",
        State.UNKNOWN: "no evidence",
    }[state]
    has_time = is_known and name not in (StageName.DECLARED, StageName.GENERATED)
    return Stage(
        name,
        Proof(
            state=state,
            summary=summary,
            evidence=_FILES[name] if is_known else "",
            time=_time(chance) if has_time else "",
            changed=("document",) if state is State.STALE else (),
            command="" if state is State.PASSED else _COMMANDS[name].format(server),
        ),
    )


def _find_reached(stages: tuple[Stage, ...]) -> StageName | None:
    reached = None
    for stage in stages:
        if stage.proof.state is State.PASSED:
            reached = stage.name
        elif stage.name is not StageName.LIVE:
            break
    return reached


def _make_tools(slug: str, chance: random.Random) -> list[Tool]:
    noun = slug.replace("-", "_")
    verbs = ["list", "get", "create", "update", "delete", "archive", "search", "export", "restore"]
    parts = ["", "_item", "_event", "_note"]
    names = [f"{verb}_{noun}{part}" for part in parts for verb in verbs]
    return [
        Tool(
            name=name,
            title=name.replace("_", " ").capitalize(),
            description=f"{name.replace('_', ' ').capitalize()} of the shop.\nUse it for one shop.",
            operation=f"{'GET' if at % 3 else 'POST'} /{slug}/{at}",
            tokens=chance.randint(90, 420),
            annotations={
                "readOnlyHint": bool(at % 3),
                "destructiveHint": "delete" in name,
                "idempotentHint": bool(at % 2),
                "openWorldHint": True,
            },
            input_schema={
                "type": "object",
                "properties": {
                    f"field_{each}": {"type": "string", "description": "A field of the shop."}
                    for each in range(6)
                },
                "required": ["field_0"],
                "additionalProperties": False,
            },
            output_schema={
                "type": "object",
                "properties": {
                    f"field_{each}": {"type": ["string", "null"], "maxLength": 80}
                    for each in range(12)
                },
            },
            cases=chance.randint(18, 54),
        )
        for at, name in enumerate(names[: chance.randint(5, 36)])
    ]


def _make_scores(state: State, chance: random.Random) -> dict[str, Score]:
    if state is State.PASSED:
        number = chance.choice((100, 100, 100, 97))
        return {
            it: Score(number, chance.choice((0.969, 0.957, 1.0)), "PASS", True) for it in REVISIONS
        }
    return {
        it: Score(59, 0.91, "FAIL", True) if at % 2 else Score(88, 0.71, "PASS", False)
        for at, it in enumerate(REVISIONS)
    }


def _make_clients(chance: random.Random) -> dict[str, ClientCell]:
    cells = {}
    for client in read_clients().values():
        if client.is_api:
            continue
        effect = chance.choices(("ok", "degraded", "dropped", "breaks"), (90, 6, 3, 1))[0]
        limits = () if effect == "ok" else ("a name has 48 characters at most",)
        cells[client.id] = ClientCell(effect, 0 if effect == "ok" else chance.randint(1, 4), limits)
    return cells


def _list_needs(
    server: str, stages: tuple[Stage, ...], drift: State, waivers: tuple[WaiverState, ...]
) -> list[Need]:
    needs = []
    kinds = {
        State.FAILED: NeedKind.FAILING,
        State.STALE: NeedKind.STALE,
        State.UNKNOWN: NeedKind.UNKNOWN,
    }
    for stage in stages:
        proof = stage.proof
        if proof.state in kinds and stage.name is not StageName.LIVE:
            message = f"{stage.name.value}: {proof.summary}"
            needs.append(Need(kinds[proof.state], message, proof.command, proof.evidence))
    if drift is State.STALE:
        message = "the document at its source has changed"
        evidence = ".mcpgen/evidence/source.json"
        needs.append(Need(NeedKind.REGENERATE, message, f"mcpgen pull {server}", evidence))
    for waiver in waivers:
        kind = NeedKind.WAIVER_EXPIRED if waiver.is_expired else NeedKind.WAIVED
        message = f"{waiver.rule}: {waiver.findings} findings, until {waiver.expires}"
        needs.append(Need(kind, message, f"mcpgen lint {server}", "waivers.yaml"))
    if not needs:
        needs.append(
            Need(NeedKind.READY, "1.5.0 is proven and not published", f"git tag {server}/1.5.0")
        )
    order = list(NeedKind)
    return sorted(needs, key=lambda need: order.index(need.kind))
