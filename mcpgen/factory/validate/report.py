"""The result of a validation as JSON, Markdown and tests of a JUnit report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from mcpgen.diagnostics import Acceptance, Diagnostic, Severity
from mcpgen.factory.junit import Group
from mcpgen.factory.validate.requirements import Requirement
from mcpgen.factory.validate.run import Result, Validation
from mcpgen.factory.validate.score import Score, compute_score
from mcpgen.factory.validate.verdicts import Verdict
from mcpgen.factory.waivers import find_waiver
from mcpgen.ir.waivers import Waiver
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.project.evidence import describe_scores

_FINDINGS = frozenset({Verdict.FAIL, Verdict.ERROR})
_UNDECIDED = frozenset({Verdict.UNTESTED, Verdict.INCONCLUSIVE})


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation, with all revisions and transports where it was observed the same way."""

    requirement: Requirement
    message: str
    places: tuple[str, ...]  # "2025-11-25 stdio"
    waived: Acceptance | None = None


def compute_scores(validation: Validation) -> dict[str, Score]:
    """Return the score of each examined revision, oldest first."""
    return {revision: _score(validation, revision) for revision in validation.revisions}


def _score(validation: Validation, revision: str, transport: str = "") -> Score:
    """Return the score of a revision, over all transports or one."""
    by_id: dict[str, list[Result]] = {}
    for result in validation.results:
        if result.revision == revision and transport in ("", result.transport):
            by_id.setdefault(result.requirement.id, []).append(result)
    return compute_score(
        (group[0].requirement, [each.outcome.verdict for each in group]) for group in by_id.values()
    )


def iterate_findings(validation: Validation) -> Iterator[Result]:
    """Yield the results that are findings: failures and errors, requirements of MUST first."""
    found = [it for it in validation.results if it.outcome.verdict in _FINDINGS]
    yield from sorted(found, key=lambda it: (it.requirement.level, it.revision))


def apply_waivers(validation: Validation, waivers: Sequence[Waiver], today: date) -> None:
    """Mark the requirements whose violations a waiver accepts today; scores stay as they are."""
    for result in iterate_findings(validation):
        waiver = find_waiver(waivers, (result.requirement.id, ""), today)
        if waiver is not None:
            validation.waived[result.requirement.id] = waiver


def list_failed_revisions(validation: Validation) -> list[str]:
    """Return the examined revisions that failed for another reason than waived findings."""
    violated = {
        it.revision
        for it in iterate_findings(validation)
        if it.requirement.level == "must" and it.requirement.id not in validation.waived
    }
    return [
        revision
        for revision, score in compute_scores(validation).items()
        if score.verdict != "PASS" and (revision in violated or not score.failed_musts)
    ]


def join_findings(validation: Validation) -> list[Finding]:
    """Return the findings, those with the same message as one."""
    return _join(validation, iterate_findings(validation))


def join_undecided(validation: Validation) -> list[Finding]:
    """Return the requirements that apply and were not decided, with the reason."""
    return _join(validation, (it for it in validation.results if it.outcome.verdict in _UNDECIDED))


def _join(validation: Validation, results: Iterator[Result]) -> list[Finding]:
    joined: dict[tuple[str, str], tuple[Requirement, list[str]]] = {}
    for result in results:
        key = (result.requirement.id, result.outcome.message)
        _, places = joined.setdefault(key, (result.requirement, []))
        places.append(f"{result.revision} {result.transport}")
    return [
        Finding(requirement, message, tuple(sorted(places)), validation.waived.get(requirement.id))
        for (_, message), (requirement, places) in joined.items()
    ]


def list_diagnostics(validation: Validation) -> list[Diagnostic]:
    """Return one diagnostic for each of the joined findings."""
    return [
        Diagnostic(
            finding.requirement.id,
            Severity.ERROR if finding.requirement.level == "must" else Severity.WARNING,
            f"{finding.message} ({', '.join(finding.places)})",
            None,
            finding.requirement.why,
            finding.requirement.help,
            waived=finding.waived,
        )
        for finding in join_findings(validation)
    ]


def describe_trouble(validation: Validation) -> Diagnostic:
    """Return why the server could not be examined."""
    advice = "give credentials with --token-from or --header"
    if validation.trouble_kind == "unreachable":
        advice = "start the server by hand to see why"
    return Diagnostic(validation.trouble_kind, Severity.ERROR, validation.trouble, None, "", advice)


def describe_coverage(score: Score) -> str:
    """Return how much was exercised: "54 of 55 applicable requirements (98 % exercised)"."""
    share = f"{100 * score.coverage:.0f} % exercised"
    return f"{score.exercised} of {score.applicable} applicable requirements ({share})"


def format_number(score: Score) -> str:
    """Return the score, with `~` if too little was exercised."""
    return f"{'' if score.is_reliable else '~'}{score.score}"


# JSON


def format_finding(result: Result, waived: Acceptance | None = None) -> JsonObject:
    """Return a finding for `--json`."""
    requirement = result.requirement
    return {
        "rule": requirement.id,
        "level": requirement.level,
        "severity": severity(requirement),
        "revision": result.revision,
        "transport": result.transport,
        "message": result.outcome.message,
        "why": requirement.why,
        "help": requirement.help,
        "section": requirement.section,
        "evidence": list(result.evidence),
        **({"waived": waived.as_json()} if waived else {}),
    }


def severity(requirement: Requirement) -> str:
    """Return the severity of a violation."""
    return "error" if requirement.level == "must" else "warning"


def format_revisions(validation: Validation) -> dict[str, JsonObject]:
    """Return the score and the cost of each examined revision, for `--json`."""
    found = {}
    for revision, score in compute_scores(validation).items():
        exchange = validation.exchanges[revision]
        took = {"requests": exchange.requests, "seconds": round(exchange.seconds, 1)}
        found[revision] = {**format_score(score), **took}
    return found


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
        "coverage": round(score.coverage, 3),
        "reliable": score.is_reliable,
    }


def format_undecided(validation: Validation) -> list[JsonObject]:
    """Return the requirements that apply and were not decided, for `--json`."""
    return [
        {
            "rule": result.requirement.id,
            "level": result.requirement.level,
            "verdict": result.outcome.verdict.value,
            "revision": result.revision,
            "transport": result.transport,
            "reason": result.outcome.message,
        }
        for result in validation.results
        if result.outcome.verdict in _UNDECIDED
    ]


def collect_evidence(validation: Validation) -> JsonObject:
    """Return what `.mcpgen/evidence/validate.json` records of a run: scores by revision, no frames.

    Each revision also has the score and the coverage over each transport, and the requirements
    that were violated or not decided.
    """
    revisions = {
        revision: {
            **format_score(score),
            "transports": _format_transports(validation, revision),
            "findings": _list_rules(validation, revision, _FINDINGS),
            "undecided": _list_rules(validation, revision, _UNDECIDED),
        }
        for revision, score in compute_scores(validation).items()
    }
    has_passed = all(it["verdict"] == "PASS" for it in revisions.values()) and bool(revisions)
    return {
        "outcome": validation.trouble_kind or ("passed" if has_passed else "failed"),
        "result": validation.trouble_kind or describe_scores(revisions) or "no revision",
        "revisions": revisions,
        "unsupported": sorted(validation.unsupported),
    }


def _format_transports(validation: Validation, revision: str) -> JsonObject:
    transports = {it.transport for it in validation.results if it.revision == revision}
    scores = {it: _score(validation, revision, it) for it in sorted(transports)}
    return {
        transport: {
            "score": score.score,
            "verdict": score.verdict,
            "coverage": round(score.coverage, 3),
        }
        for transport, score in scores.items()
    }


def _list_rules(validation: Validation, revision: str, verdicts: frozenset[Verdict]) -> list[str]:
    found = (it for it in validation.results if it.outcome.verdict in verdicts)
    return sorted({it.requirement.id for it in found if it.revision == revision})


# JUnit and Markdown


def group_results(validation: Validation) -> list[Group]:
    """Return each requirement as a test, grouped by revision and transport."""
    groups: dict[str, Group] = {}
    for result in validation.results:
        name = f"{result.revision} over {result.transport}"
        group = groups.setdefault(name, Group(name))
        test, reason = result.requirement.id, result.outcome.message
        match result.outcome.verdict:
            case Verdict.PASS:
                group.passed.append(test)
            case Verdict.FAIL | Verdict.ERROR:
                group.failed.append((test, reason))
            case _:
                group.untested.append((test, reason))
    return list(groups.values())


def format_markdown(validation: Validation) -> str:
    """Return the result as a Markdown page: a table of scores, and the findings."""
    lines = ["# Validation", "", f"Target: {_code(validation.target)}", ""]
    if validation.trouble_kind:
        return "\n".join(
            [*lines, f"**{validation.trouble_kind}**: {_escape(validation.trouble)}", ""]
        )
    lines += ["| revision | score | verdict | coverage |", "|---|---|---|---|"]
    for revision, score in compute_scores(validation).items():
        row = (revision, format_number(score), score.verdict, describe_coverage(score))
        lines.append(f"| {' | '.join(row)} |")
    for revision, reason in sorted(validation.unsupported.items()):
        lines.append(f"| {revision} | - | not supported | {_escape(reason)} |")
    lines += _format_list("Findings", join_findings(validation), with_help=True)
    lines += _format_list("Not decided", join_undecided(validation), with_help=False)
    return "\n".join(lines) + "\n"


def _format_list(title: str, found: Sequence[Finding], *, with_help: bool) -> list[str]:
    lines = ["", f"## {title}", ""]
    for finding in found:
        requirement = finding.requirement
        lines.append(
            f"- **{requirement.id}** ({requirement.level.upper()}, {requirement.section}):"
            f" {_escape(finding.message)}  \n  {', '.join(finding.places)}"
        )
        if with_help:
            lines.append(f"  - why: {_escape(requirement.why)}")
            lines.append(f"  - help: {_escape(requirement.help)}")
        if finding.waived:
            lines.append(f"  - waived {_escape(str(finding.waived))}")
    return lines if found else [*lines, "None."]


def _escape(text: str) -> str:
    """Return text of a server for Markdown: one line, no markup and no table cells."""
    flat = " ".join(text.split())
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#|!&" else char for char in flat)


def _code(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat.replace('`', chr(39))}`"
