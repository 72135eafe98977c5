"""The stages of a server, each judged from its evidence and the hashes of its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.factory.status.age import parse_time
from mcpgen.factory.status.model import OPTIONAL_STAGES, Proof, Stage, StageName, State
from mcpgen.factory.status.records import (
    DamagedEvidenceError,
    LintRecord,
    PublishedRecord,
    R,
    Record,
    SourceRecord,
    TestsRecord,
    ValidateRecord,
    find_evidence_path,
    read_record,
)
from mcpgen.factory.status.subject import Subject
from mcpgen.factory.status.waived import judge_findings, judge_requirements
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.pipeline.project.evidence import BUNDLE, LINT, LIVE, PUBLISHED, SOURCE, TESTS, VALIDATE
from mcpgen.pipeline.project.lock_state import compare_with_lock

_NEVER: Final = {SOURCE: "never compared", BUNDLE: "never built", PUBLISHED: "never compared"}
_MAX_NAMED: Final = 3  # files in a summary
_COMMANDS: Final = {  # what records the evidence of a check
    SOURCE: "pull --dry-run",
    LINT: "lint",
    TESTS: "test",
    VALIDATE: "validate",
    LIVE: "test --live",
    BUNDLE: "bundle",
    PUBLISHED: "bundle --check-published",
}


class Records(Struct, frozen=True, kw_only=True):
    """The readable evidence of a server; None where it is missing or damaged."""

    source: SourceRecord | None
    lint: LintRecord | None
    tests: TestsRecord | None
    validate: ValidateRecord | None
    live: Record | None
    bundle: Record | None
    published: PublishedRecord | None
    damage: Mapping[str, str] = field(default_factory=dict)  # check -> what is wrong


def read_records(subject: Subject) -> Records:
    """Read all evidence of a server.

    Raises:
        OSError: a file cannot be read.
    """
    damage: dict[str, str] = {}

    def read(check: str, type_: type[R]) -> R | None:
        try:
            return read_record(subject.files, check, type_)
        except DamagedEvidenceError as error:
            damage[check] = str(error)
            return None

    return Records(
        source=read(SOURCE, SourceRecord),
        lint=read(LINT, LintRecord),
        tests=read(TESTS, TestsRecord),
        validate=read(VALIDATE, ValidateRecord),
        live=read(LIVE, Record),
        bundle=read(BUNDLE, Record),
        published=read(PUBLISHED, PublishedRecord),
        damage=damage,
    )


def judge_stages(subject: Subject, records: Records, version: str) -> tuple[Stage, ...]:
    """Return all stages in their order. `version` is that of the package, "" if it is unknown.

    Raises:
        OSError: a file cannot be read.
    """
    proofs = {
        StageName.DECLARED: _judge_declared(subject),
        StageName.GENERATED: _judge_generated(subject),
        StageName.LINTED: _judge_lint(subject, records),
        StageName.TESTED: _judge(subject, records, TESTS, records.tests),
        StageName.CONFORMANT: _judge_validation(subject, records),
        StageName.LIVE: _judge(subject, records, LIVE, records.live),
        StageName.PACKAGED: _judge(subject, records, BUNDLE, records.bundle),
        StageName.PUBLISHED: _judge_published(subject, records, version),
    }
    return tuple(Stage(name, proofs[name]) for name in StageName)


def find_reached(stages: Iterable[Stage]) -> StageName | None:
    """Return the last stage that passed, with all required ones before it."""
    reached = None
    for stage in stages:
        if stage.proof.state is State.PASSED:
            reached = stage.name
        elif stage.name not in OPTIONAL_STAGES:
            break
    return reached


def judge_drift(subject: Subject, records: Records) -> Proof:
    """Return whether the documents are those of their origins.

    Raises:
        OSError: a file cannot be read.
    """
    lock, record = subject.files.lock, records.source
    if lock is None:
        return Proof(state=State.UNKNOWN, summary="no readable lock")
    if not lock.documents:
        return Proof(state=State.PASSED, summary="has no document")
    if not lock.origins:
        command = subject.command("pull", "SOURCE")
        return Proof(state=State.UNKNOWN, summary="no recorded origin", command=command)
    proof = _judge(subject, records, SOURCE, record)
    if record is None or proof.state is State.STALE:
        return proof
    if record.source != lock.origins:
        return replace(proof, state=State.STALE, changed=("origin",))
    if record.outcome == "unchanged":
        return replace(proof, state=State.PASSED, command="")
    if record.written:
        summary = f"as pulled ({record.result})"
        return replace(proof, state=State.PASSED, summary=summary, command="")
    command = subject.command("pull")
    return replace(proof, state=State.STALE, changed=("source",), command=command)


def _judge(subject: Subject, records: Records, check: str, record: Record | None) -> Proof:
    """Judge a check by its evidence: missing or damaged evidence is unknown."""
    evidence = find_evidence_path(check)
    command = subject.command(_COMMANDS[check])
    if check in records.damage:
        summary = f"damaged evidence: {records.damage[check]}"
        return Proof(state=State.UNKNOWN, summary=summary, evidence=evidence, command=command)
    if record is None:
        return Proof(state=State.UNKNOWN, summary=_NEVER.get(check, "never run"), command=command)
    changed = subject.list_changed(check, record.inputs)
    has_passed = record.outcome == "passed"
    return Proof(
        state=State.STALE if changed else State.PASSED if has_passed else State.FAILED,
        summary=record.result,
        evidence=evidence,
        time=record.time if parse_time(record.time) else "",
        changed=changed,
        command=command if changed or not has_passed else "",
    )


def _judge_declared(subject: Subject) -> Proof:
    if subject.files.read(MANIFEST_FILE) is None:
        return Proof(state=State.UNKNOWN, summary=f"no {MANIFEST_FILE}")
    return Proof(state=State.PASSED, summary=MANIFEST_FILE, evidence=MANIFEST_FILE)


def _judge_generated(subject: Subject) -> Proof:
    """Compare the files with the lock, as `mcpgen check` does.

    An edited file or a conflict failed; a changed input, a deleted file or another version of a
    tool is stale; a lock that is missing or unreadable is unknown.
    """
    found = compare_with_lock(subject.files)
    command = subject.command("generate")
    evidence = "" if subject.files.read(LOCK_FILE) is None else LOCK_FILE
    failure = ""
    if found.is_interrupted:
        failure = "an earlier run was interrupted while it was writing"
    elif found.is_merge:
        failure = found.unreadable
    elif found.edited:
        failure = f"edited by hand: {_name(found.edited)}"
    elif found.unresolved:
        failure = f"unresolved conflict: {_name(found.unresolved)}"
    if failure:
        return Proof(state=State.FAILED, summary=failure, evidence=evidence, command=command)
    if found.unreadable:
        summary = found.unreadable
        return Proof(state=State.UNKNOWN, summary=summary, evidence=evidence, command=command)
    changed = (*found.changed, *(("files",) if found.missing else ()))
    if changed:
        deleted = f"deleted: {_name(found.missing)}" if found.missing else ""
        return Proof(
            state=State.STALE,
            summary=deleted or "not generated from what is there now",
            evidence=evidence,
            changed=changed,
            command=command,
        )
    count = f"{found.files:,} file{'' if found.files == 1 else 's'}"
    return Proof(state=State.PASSED, summary=f"{count}, as generated", evidence=evidence)


def _name(paths: Sequence[str]) -> str:
    more = len(paths) - _MAX_NAMED
    return ", ".join(paths[:_MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _judge_lint(subject: Subject, records: Records) -> Proof:
    proof = _judge(subject, records, LINT, records.lint)
    if records.lint is None or proof.state is State.STALE or not subject.waivers:
        return proof
    return judge_findings(subject, records.lint, proof)


def _judge_validation(subject: Subject, records: Records) -> Proof:
    proof = _judge(subject, records, VALIDATE, records.validate)
    if records.validate is None or proof.state is State.STALE or not subject.waivers:
        return proof
    return judge_requirements(subject, records.validate, proof)


def _judge_published(subject: Subject, records: Records, version: str) -> Proof:
    """Compare the version of the registry with that of the package."""
    record = records.published
    proof = _judge(subject, records, PUBLISHED, record)
    if record is None:
        return proof
    if record.version and record.version == version:
        return replace(proof, state=State.PASSED, command="")
    command = subject.command(_COMMANDS[PUBLISHED])
    if not record.version:
        return replace(proof, state=State.UNKNOWN, command=command)
    summary = f"{record.version} in {record.registry}, {version or 'no version'} here"
    return replace(proof, state=State.STALE, summary=summary, changed=("version",), command=command)
