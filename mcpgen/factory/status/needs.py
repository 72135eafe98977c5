"""Needs of a server: a line for each cause, with the command that resolves it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from mcpgen.factory.status.model import (
    OPTIONAL_STAGES,
    Need,
    NeedKind,
    Proof,
    Stage,
    StageName,
    State,
    WaiverState,
)
from mcpgen.factory.status.records import SourceRecord
from mcpgen.factory.status.subject import Subject
from mcpgen.ir.waivers import WAIVERS_FILE

_CHECKS: Final = {  # what a sentence calls the evidence of a stage
    StageName.LINTED: "lint",
    StageName.TESTED: "the tests",
    StageName.CONFORMANT: "validation",
    StageName.LIVE: "the live run",
    StageName.PACKAGED: "the bundles",
    StageName.PUBLISHED: "the registry",
}
_URGENCY: Final = {kind: number for number, kind in enumerate(NeedKind)}


def list_needs(
    subject: Subject,
    stages: Sequence[Stage],
    drift: Proof,
    source: SourceRecord | None,
    waivers: Iterable[WaiverState],
) -> tuple[Need, ...]:
    """Return the needs of a server, the most urgent first, else in the order of the stages."""
    proofs = {stage.name: stage.proof for stage in stages}
    needs = [
        *_find_generation(proofs[StageName.GENERATED], drift, source),
        *_find_drift(drift, source),
        *(need for name in _CHECKS for need in _find_check(name, proofs)),
        *_find_waivers(subject, waivers),
    ]
    return tuple(sorted(needs, key=lambda need: _URGENCY[need.kind]))


def _find_generation(proof: Proof, drift: Proof, source: SourceRecord | None) -> Iterator[Need]:
    match proof.state:
        case State.FAILED:
            yield Need(NeedKind.CONFLICT, proof.summary, proof.command, proof.evidence)
        case State.UNKNOWN:
            yield Need(NeedKind.UNKNOWN, proof.summary, proof.command, proof.evidence)
        case State.STALE if "document" in proof.changed and _is_pulled_break(drift, source):
            message = "the pulled document breaks clients; `changelog` shows how"
            yield Need(NeedKind.BREAKING, message, proof.command, drift.evidence)
        case State.STALE:
            message = f"{proof.summary} ({', '.join(proof.changed)})"
            yield Need(NeedKind.REGENERATE, message, proof.command, proof.evidence)


def _is_pulled_break(drift: Proof, source: SourceRecord | None) -> bool:
    """Return whether the document is that of the last pull, with a breaking change."""
    is_current = drift.state is State.PASSED
    return is_current and source is not None and source.written and source.level == "major"


def _find_drift(drift: Proof, source: SourceRecord | None) -> Iterator[Need]:
    if drift.state is State.UNKNOWN and drift.command:
        message = f"comparison of the document with its source: {drift.summary}"
        yield Need(NeedKind.UNKNOWN, message, drift.command, drift.evidence)
    if drift.state is not State.STALE or source is None:
        return
    if drift.changed != ("source",):
        message = f"the comparison with the source is stale: {', '.join(drift.changed)} changed"
        yield Need(NeedKind.STALE, message, drift.command, drift.evidence)
    elif source.level == "major":
        message = f"a breaking change waits for approval: {source.source} has changed"
        yield Need(NeedKind.BREAKING, message, drift.command, drift.evidence)
    else:
        level = f"level {source.level}" if source.level else "the tools could not be compared"
        message = f"{source.source} has changed ({level})"
        yield Need(NeedKind.REGENERATE, message, drift.command, drift.evidence)


def _find_check(name: StageName, proofs: Mapping[StageName, Proof]) -> Iterator[Need]:
    proof, what = proofs[name], _CHECKS[name]
    if name is StageName.PUBLISHED:
        yield from _find_publication(proofs)
    elif proof.state is State.FAILED:
        yield Need(NeedKind.FAILING, f"{what}: {proof.summary}", proof.command, proof.evidence)
    elif proof.state is State.STALE:
        message = f"{what}: {', '.join(proof.changed)} changed since"
        yield Need(NeedKind.STALE, message, proof.command, proof.evidence)
    elif proof.state is State.UNKNOWN and (name not in OPTIONAL_STAGES or proof.evidence):
        yield Need(NeedKind.UNKNOWN, f"{what}: {proof.summary}", proof.command, proof.evidence)


def _find_publication(proofs: Mapping[StageName, Proof]) -> Iterator[Need]:
    """Yield the need to publish, once all else is done."""
    proof = proofs[StageName.PUBLISHED]
    others = (it for name, it in proofs.items() if name is not StageName.PUBLISHED)
    required = (it for it in others if it is not proofs[StageName.LIVE])
    if proof.state is State.PASSED or any(it.state is not State.PASSED for it in required):
        return
    if proof.evidence:
        yield Need(NeedKind.READY, proof.summary, proof.command, proof.evidence)
    else:
        yield Need(NeedKind.READY, "not compared with the registry yet", proof.command)


def _find_waivers(subject: Subject, waivers: Iterable[WaiverState]) -> Iterator[Need]:
    if subject.has_invalid_waivers:
        message = f"{WAIVERS_FILE} is invalid"
        yield Need(NeedKind.FAILING, message, subject.command("lint"), WAIVERS_FILE)
    for waiver in waivers:
        covered = f"{waiver.findings:,} finding{'' if waiver.findings == 1 else 's'}"
        if waiver.is_expired:
            message = f"the waiver of `{waiver.rule}` expired on {waiver.expires} ({covered})"
            command = subject.command("lint")
            yield Need(NeedKind.WAIVER_EXPIRED, message, command, WAIVERS_FILE)
        elif waiver.findings:
            until = f"waived until {waiver.expires} by {waiver.owner}: {waiver.reason}"
            message = f"{covered} of `{waiver.rule}`, {until}"
            yield Need(NeedKind.WAIVED, message, subject.command("lint"), WAIVERS_FILE)
