"""Claims about the current state of a server, each proved by evidence or not."""

from __future__ import annotations

from msgspec import Struct

from mcpgen.factory.review.model import Claim
from mcpgen.factory.status.records import (
    DamagedEvidenceError,
    R,
    TestsRecord,
    ValidateRecord,
    read_record,
)
from mcpgen.factory.status.subject import Subject
from mcpgen.pipeline.project.evidence import TESTS, VALIDATE, has_other_sources, read_evidence

_SUBJECTS = {TESTS: "tests", VALIDATE: "validation"}
_RAN = {TESTS: "the tests ran", VALIDATE: "it ran"}
_COMMANDS = {TESTS: "test", VALIDATE: "validate"}
_INPUTS = {"generated": "generated code", "own": "own code or tests"}


class Proven(Struct, frozen=True):
    """The current evidence, None if there is none, and the claims that are not verified then."""

    tests: TestsRecord | None
    validate: ValidateRecord | None
    claims: tuple[Claim, ...]


def examine_evidence(subject: Subject) -> Proven:
    """Compare the evidence of a server with its files."""
    tests, about_tests = _examine(subject, TESTS, TestsRecord)
    validate, about_scores = _examine(subject, VALIDATE, ValidateRecord)
    claims = [*about_tests, *about_scores]
    if tests is None or tests.mutation is None or tests.mutation.score is None:
        reason = "not verified: no mutation tests of these files"
        claims.append(Claim("kill rate", reason, subject.command("test", "--mutate")))
    for revision, score in validate.scores.items() if validate else ():
        if not score.is_reliable:
            reason = f"only {100 * score.coverage:.0f} % of the requirements were exercised"
            claims.append(Claim(f"score {revision}", reason, subject.command("validate")))
    return Proven(tests, validate, tuple(claims))


def _examine(subject: Subject, check: str, type_: type[R]) -> tuple[R | None, list[Claim]]:
    """Return the evidence of a check if it holds, and why it proves less than it should."""
    reason = ""
    try:
        record = read_record(subject.files, check, type_)
    except DamagedEvidenceError:
        record, reason = None, "not verified: the evidence is damaged"
    if record is None:
        reason = reason or "not verified: there is no evidence"
    elif changed := subject.list_changed(check, record.inputs):
        inputs = ", ".join(_INPUTS.get(name, name) for name in changed)
        record, reason = None, f"not verified: {_RAN[check]} on other inputs ({inputs})"
    elif has_other_sources(subject.files.target, read_evidence(subject.files.target, check) or {}):
        reason = "found with another state of the runtime"
    command = subject.command(_COMMANDS[check])
    return record, [Claim(_SUBJECTS[check], reason, command)] if reason else []
