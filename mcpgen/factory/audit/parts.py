"""The parts of an audit: a grade, a figure and a coverage for each, and what was not exercised.

There is no grade of the whole: one number would hide the part that failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.factory.audit.findings import (
    AUTHORIZATION,
    LINT,
    ROBUSTNESS,
    VALIDATION,
    AuditFinding,
)
from mcpgen.factory.audit.run import Audit
from mcpgen.factory.robustness.run import Robustness
from mcpgen.factory.validate.report import (
    compute_scores,
    describe_coverage,
    format_number,
    join_undecided,
)
from mcpgen.factory.validate.score import RELIABLE_COVERAGE
from mcpgen.factory.validate.verdicts import Verdict

Grade = Literal["PASS", "WARN", "WAIVED", "FAIL", "NOT RUN", "N/A"]
TITLES: Final = {
    VALIDATION: "Protocol",
    AUTHORIZATION: "Authorization",
    LINT: "Tools",
    ROBUSTNESS: "Robustness",
}
_DECIDED: Final = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.ERROR})


class Part(Struct, frozen=True, kw_only=True):
    """One part of the report. `gaps` are pairs of a requirement not exercised and the reason."""

    id: str
    grade: Grade
    summary: str
    errors: int = 0
    warnings: int = 0
    gaps: Sequence[tuple[str, str]] = ()

    @property
    def title(self) -> str:
        """The heading of the part."""
        return TITLES[self.id]


def list_parts(audit: Audit, findings: Sequence[AuditFinding]) -> list[Part]:
    """Return all parts in the order of the report."""
    counts = Counter((it.part, _classify(it)) for it in findings)
    made = (
        _grade_validation(audit, counts),
        _grade_authorization(audit, counts),
        _grade_lint(audit, counts),
        _grade_robustness(audit, counts),
    )
    return [
        replace(
            part,
            summary=audit.redact(part.summary),
            gaps=[(audit.redact(what), audit.redact(reason)) for what, reason in part.gaps],
        )
        for part in made
    ]


def has_failed(parts: Sequence[Part]) -> bool:
    """Whether a part failed."""
    return any(part.grade == "FAIL" for part in parts)


def _grade(counts: Counter[tuple[str, str]], part: str) -> Grade:
    """Return the grade of a part; waived findings neither fail it nor let it pass."""
    if counts[part, "error"]:
        return "FAIL"
    return "WAIVED" if counts[part, "waived"] else "WARN" if counts[part, "warning"] else "PASS"


def _classify(finding: AuditFinding) -> str:
    return "waived" if finding.waived and finding.severity != "note" else finding.severity


def _count(counts: Counter[tuple[str, str]], part: str) -> tuple[int, int]:
    return counts[part, "error"], counts[part, "warning"]


def _grade_scores(audit: Audit, counts: Counter[tuple[str, str]]) -> Grade:
    """Return the grade of the protocol; a score below a failed MUST passes only if it is waived."""
    scores = compute_scores(audit.validation)
    failed = [score for score in scores.values() if score.verdict != "PASS"]
    has_errors = counts[VALIDATION, "error"] or counts[AUTHORIZATION, "error"]
    is_waived = not has_errors and all(score.failed_musts for score in failed)
    if not scores or (failed and not is_waived):
        return "FAIL"
    return "WAIVED" if failed else _grade(counts, VALIDATION)


def _grade_validation(audit: Audit, counts: Counter[tuple[str, str]]) -> Part:
    validation = audit.validation
    if validation.trouble_kind:
        return Part(id=VALIDATION, grade="NOT RUN", summary=validation.trouble)
    errors, warnings = _count(counts, VALIDATION)
    scores = compute_scores(validation)
    failed = [revision for revision, score in scores.items() if score.verdict != "PASS"]
    summary = "; ".join(
        f"{revision}: {format_number(score)} over {describe_coverage(score)}"
        for revision, score in scores.items()
    )
    if failed and not errors and not counts[VALIDATION, "waived"]:
        summary += "; failed in authorization"
    gaps = [
        (f"{it.requirement.id} ({', '.join(it.places)})", it.message)
        for it in join_undecided(validation)
    ]
    return Part(
        id=VALIDATION,
        grade=_grade_scores(audit, counts),
        summary=summary or "no revision could be examined",
        errors=errors,
        warnings=warnings,
        gaps=gaps,
    )


def _grade_authorization(audit: Audit, counts: Counter[tuple[str, str]]) -> Part:
    found = audit.authorization
    if found.is_protected is None:
        grade: Grade = "NOT RUN" if found.is_applicable else "N/A"
        return Part(id=AUTHORIZATION, grade=grade, summary=found.reason)
    if not found.is_protected:
        summary = "the server serves requests without credentials"
        return Part(id=AUTHORIZATION, grade="PASS", summary=summary)
    errors, warnings = _count(counts, AUTHORIZATION)
    verdicts = Counter(result.outcome.verdict for result in found.results)
    decided = sum(verdicts[verdict] for verdict in _DECIDED)
    applicable = verdicts.total() - verdicts[Verdict.NOT_APPLICABLE]
    undecided = [
        (result.requirement.id, result.outcome.message)
        for result in found.results
        if result.outcome.verdict in (Verdict.UNTESTED, Verdict.INCONCLUSIVE)
    ]
    gaps = [*dict.fromkeys(undecided), *found.untested]
    return Part(
        id=AUTHORIZATION,
        grade=_grade(counts, AUTHORIZATION),
        summary=f"protected; {decided} of {applicable} checks decided",
        errors=errors,
        warnings=warnings,
        gaps=gaps,
    )


def _grade_lint(audit: Audit, counts: Counter[tuple[str, str]]) -> Part:
    report = audit.lint
    if report is None:
        return Part(id=LINT, grade="NOT RUN", summary=audit.lint_trouble)
    errors, warnings = _count(counts, LINT)
    listing = report.listing
    summary = f"{len(listing.tools)} listed tools, about {listing.token_cost:,} tokens"
    if report.grade is not None:
        summary += f"; Glama without its model: {report.grade.tier}"
    gaps = []
    if listing.has_unknown_tools:
        gaps.append(("hand-written tools", "they are not in the files of the project"))
    return Part(
        id=LINT,
        grade=_grade(counts, LINT),
        summary=summary,
        errors=errors,
        warnings=warnings,
        gaps=gaps,
    )


def _grade_robustness(audit: Audit, counts: Counter[tuple[str, str]]) -> Part:
    result = audit.robustness
    if result is None or not result.rows:
        trouble = result.trouble if result is not None else ""
        reason = trouble or audit.validation.trouble or audit.lint_trouble
        return Part(id=ROBUSTNESS, grade="NOT RUN", summary=reason)
    errors, warnings = _count(counts, ROBUSTNESS)
    return Part(
        id=ROBUSTNESS,
        grade=_grade(counts, ROBUSTNESS),
        summary=describe_experiments(result),
        errors=errors,
        warnings=warnings,
        gaps=list(_list_gaps(result)),
    )


def describe_experiments(result: Robustness) -> str:
    """Return how much was exercised, with `~` if it was too little to count."""
    share = result.exercised / result.applicable if result.applicable else 0.0
    mark = "" if share >= RELIABLE_COVERAGE else "~"
    return (
        f"{mark}{result.exercised} of {result.applicable} applicable experiments"
        f" ({100 * share:.0f} % exercised), {result.messages:,} messages"
    )


def _list_gaps(result: Robustness) -> Iterator[tuple[str, str]]:
    for row in result.rows:
        if row.skipped and row.is_applicable:
            yield f"{row.experiment.id} ({row.transport})", row.skipped
    for name, reason in result.untouched_tools.items():
        yield f"tool `{name}`", reason
    if result.trouble:
        yield "a transport", result.trouble
    if not result.memory:
        yield "memory of the process", "measured on Linux over stdio, from intensity normal on"
