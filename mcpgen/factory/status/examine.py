"""Computes the status of a server from its files and evidence: no network, nothing is started."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from mcpgen.factory.status.model import (
    OPTIONAL_STAGES,
    ClientCell,
    Need,
    NeedKind,
    Proof,
    ServerStatus,
    Stage,
    StageName,
    State,
)
from mcpgen.factory.status.needs import list_needs
from mcpgen.factory.status.records import LintRecord, TestsRecord, ValidateRecord
from mcpgen.factory.status.stages import (
    Records,
    find_reached,
    judge_drift,
    judge_stages,
    read_records,
)
from mcpgen.factory.status.subject import Subject
from mcpgen.factory.status.waived import list_waiver_states
from mcpgen.pipeline.project.workspace import read_package_facts

_FAILING_NEEDS = frozenset({NeedKind.FAILING, NeedKind.CONFLICT, NeedKind.WAIVER_EXPIRED})
_BAD_STATES = frozenset({State.FAILED, State.STALE})


def examine_server(target: Path, path: str, owners: tuple[str, ...], now: datetime) -> ServerStatus:
    """Return the status of the server at `target`; its commands name it `path`.

    Missing and damaged evidence is unknown. A server whose files cannot be read is unknown as a
    whole, and states why.
    """
    subject = Subject(target, path, now)
    try:
        return _examine(subject, owners)
    except OSError as error:
        return _report_unreadable(subject, owners, error)


def _examine(subject: Subject, owners: tuple[str, ...]) -> ServerStatus:
    facts = read_package_facts(subject.files)
    records = read_records(subject)
    stages = judge_stages(subject, records, facts.version)
    drift = judge_drift(subject, records)
    lint, tests, validate = _select_current(records, stages)
    waivers = list_waiver_states(subject, lint, validate)
    lock = subject.files.lock
    return ServerStatus(
        server=subject.path,
        name=facts.name or subject.files.target.absolute().name,
        api=facts.api,
        version=facts.version,
        owners=owners,
        stages=stages,
        reached=find_reached(stages),
        source=lock.origins if lock else "",
        drift=drift,
        tools=facts.listed,
        tokens=facts.tokens,
        scores=validate.scores if validate else {},
        kill_rate=tests.mutation.score if tests and tests.mutation else None,
        clients=_collect_clients(lint),
        published=records.published.version if records.published else "",
        waivers=waivers,
        needs=list_needs(subject, stages, drift, records.source, waivers),
    )


def _select_current(
    records: Records, stages: tuple[Stage, ...]
) -> tuple[LintRecord | None, TestsRecord | None, ValidateRecord | None]:
    """Return the evidence whose inputs have not changed."""
    stale = {stage.name for stage in stages if stage.proof.state is State.STALE}
    return (
        None if StageName.LINTED in stale else records.lint,
        None if StageName.TESTED in stale else records.tests,
        None if StageName.CONFORMANT in stale else records.validate,
    )


def _collect_clients(record: LintRecord | None) -> dict[str, ClientCell]:
    effects = record.client_effects if record else {}
    return {client: ClientCell(it.effect, it.tools, it.limits) for client, it in effects.items()}


def _report_unreadable(subject: Subject, owners: tuple[str, ...], error: OSError) -> ServerStatus:
    """Return the status of a server with a file that cannot be read."""
    target = subject.files.target
    file = os.path.relpath(error.filename, target) if error.filename else "a file"
    summary = f"cannot read {file}: {error.strerror or error}"
    unknown = Proof(state=State.UNKNOWN, summary=summary)
    return ServerStatus(
        server=subject.path,
        name=target.absolute().name,
        owners=owners,
        stages=tuple(Stage(name, unknown) for name in StageName),
        reached=None,
        drift=unknown,
        needs=(Need(NeedKind.FAILING, summary, subject.command("check")),),
    )


def list_deciding_proofs(status: ServerStatus) -> dict[str, Proof]:
    """Return the proofs by which a server is in order, by the name of the stage, or "drift".

    Publication is not among them: a release follows the checks.
    """
    stages = (it for it in status.stages if it.name is not StageName.PUBLISHED)
    return {**{it.name.value: it.proof for it in stages}, "drift": status.drift}


def is_in_order(status: ServerStatus, *, is_strict: bool = False) -> bool:
    """Return whether nothing failed or is stale; with `is_strict`, also whether nothing is unknown.

    An optional stage without evidence is in order.
    """
    proofs = list_deciding_proofs(status)
    if any(proof.state in _BAD_STATES for proof in proofs.values()):
        return False
    if any(need.kind in _FAILING_NEEDS for need in status.needs):
        return False
    required = (proof for name, proof in proofs.items() if name not in OPTIONAL_STAGES)
    return not is_strict or all(proof.state is State.PASSED for proof in required)
