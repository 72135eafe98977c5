"""The result of a validation as JSON and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from mcpgen.factory.validate.run import Result, Validation
from mcpgen.factory.validate.score import Score, compute_score
from mcpgen.factory.validate.verdicts import Verdict
from mcpgen.jsonschema.types import JsonObject


def compute_scores(validation: Validation) -> dict[str, Score]:
    """Return the score of each examined revision."""
    return {revision: _score(validation, revision) for revision in validation.revisions}


def _score(validation: Validation, revision: str) -> Score:
    by_id: dict[str, list[Result]] = {}
    for result in validation.results:
        if result.revision == revision:
            by_id.setdefault(result.requirement.id, []).append(result)
    return compute_score(
        (group[0].requirement, [each.outcome.verdict for each in group]) for group in by_id.values()
    )


def iterate_findings(validation: Validation) -> Iterator[Result]:
    """Yield the results that are findings: failures and errors."""
    for result in validation.results:
        if result.outcome.verdict in {Verdict.FAIL, Verdict.ERROR}:
            yield result


def format_finding(result: Result) -> JsonObject:
    """Return a finding for `--json`."""
    requirement = result.requirement
    return {
        "rule": requirement.id,
        "level": requirement.level,
        "severity": "error" if requirement.level == "must" else "warning",
        "revision": result.revision,
        "transport": result.transport,
        "message": result.outcome.message,
        "why": requirement.why,
        "help": requirement.help,
        "section": requirement.section,
        "evidence": list(result.evidence),
    }


def format_score(score: Score) -> JsonObject:
    """Return the score of a revision for `--json`."""
    return {
        "score": score.score,
        "verdict": score.verdict,
        "applicable": score.applicable,
        "exercised": score.exercised,
        "passed": score.counts[Verdict.PASS],
        "failed": score.counts[Verdict.FAIL],
        "errors": score.counts[Verdict.ERROR],
        "untested": score.counts[Verdict.UNTESTED],
        "inconclusive": score.counts[Verdict.INCONCLUSIVE],
        "not_applicable": score.counts[Verdict.NOT_APPLICABLE],
    }
