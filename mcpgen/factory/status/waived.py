"""The effect of waivers on results: accepted findings do not fail, expired waivers do."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from mcpgen.factory.status.model import Proof, State, WaiverState
from mcpgen.factory.status.records import LintRecord, RecordedFinding, ValidateRecord
from mcpgen.factory.status.subject import Subject
from mcpgen.factory.waivers import Subject as Finding
from mcpgen.factory.waivers import find_waiver, list_states


def judge_findings(subject: Subject, record: LintRecord, proof: Proof) -> Proof:
    """Return the result of lint after the waivers that are valid today."""
    # Imported here, and below: few servers have waivers.
    from mcpgen.factory.lint.findings import RULES

    failing = [it for it in list_findings(record) if it.severity != "note"]
    waived = [it for it in failing if _is_waived(subject, it.rule, it.tool)]
    is_complete = not record.more_findings or len(failing) < len(record.findings)
    is_accepted = bool(failing) and is_complete and waived == failing
    command = subject.command("lint")
    return _apply(subject, proof, RULES, command, len(waived), is_accepted=is_accepted)


def judge_requirements(subject: Subject, record: ValidateRecord, proof: Proof) -> Proof:
    """Return the result of `mcpgen validate` after the waivers that are valid today."""
    from mcpgen.factory.validate.requirements import read_requirements

    levels = {it.id: it.level for it in read_requirements().requirement}
    waived: set[str] = set()
    is_accepted = bool(record.revisions)
    for revision in record.revisions.values():
        musts = {it for it in revision.findings if levels.get(it, "must") == "must"}
        accepted = {it for it in musts if _is_waived(subject, it)}
        waived |= accepted
        is_accepted &= revision.verdict == "PASS" or bool(musts and musts == accepted)
    command = subject.command("validate")
    return _apply(subject, proof, levels, command, len(waived), is_accepted=is_accepted)


def _apply(
    subject: Subject,
    proof: Proof,
    rules: Collection[str],
    command: str,
    waived: int,
    *,
    is_accepted: bool,
) -> Proof:
    """Return the proof with the effect of waivers of these rules."""
    today = subject.now.date()
    expired = {it.rule for it in subject.waivers if it.is_expired(today) and it.rule in rules}
    if proof.state is State.FAILED and is_accepted:
        proof = replace(proof, state=State.PASSED, command="")
    if waived:
        proof = replace(proof, summary=f"{proof.summary}; {waived:,} waived")
    if not expired:
        return proof
    summary = f"{proof.summary}; expired waiver: {', '.join(sorted(expired))}"
    return replace(proof, state=State.FAILED, summary=summary, command=command)


def list_findings(record: LintRecord | None) -> tuple[RecordedFinding, ...]:
    """Return the recorded findings; evidence of mcpgen 0.6 only has their number."""
    found = () if record is None else record.findings
    return found if isinstance(found, tuple) else ()


def list_waiver_states(
    subject: Subject, lint: LintRecord | None, validate: ValidateRecord | None
) -> tuple[WaiverState, ...]:
    """Return the waivers, with the number of findings that each covers in this evidence."""
    if not subject.waivers:
        return ()
    found: list[Finding] = [(it.rule, it.tool) for it in list_findings(lint)]
    revisions = () if validate is None else validate.revisions.values()
    found += [(rule, "") for rule in {rule for it in revisions for rule in it.findings}]
    return list_states(subject.waivers, found, subject.now.date())


def _is_waived(subject: Subject, rule: str, tool: str = "") -> bool:
    return find_waiver(subject.waivers, (rule, tool), subject.now.date()) is not None
