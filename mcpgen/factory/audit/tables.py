"""The tables of the report, the same in Markdown and HTML; texts of the server are not escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.factory.audit.findings import AUTHORIZATION, LINT, ROBUSTNESS, VALIDATION
from mcpgen.factory.audit.run import Audit
from mcpgen.factory.robustness.run import Row
from mcpgen.factory.validate.report import compute_scores, describe_coverage, format_number
from mcpgen.factory.validate.verdicts import Verdict

_MAX_TOOLS = 100
_MIB = 1024 * 1024


class Table(Struct, frozen=True):
    """A table of texts with a caption; `part` is where it belongs."""

    part: str
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def list_tables(audit: Audit) -> list[Table]:
    """Return the tables that have rows, without secrets."""
    made = (
        *_list_validation(audit),
        *_list_authorization(audit),
        *_list_lint(audit),
        *_list_robustness(audit),
    )
    return [
        replace(table, rows=[[audit.redact(cell) for cell in row] for row in table.rows])
        for table in made
        if table.rows
    ]


def _list_validation(audit: Audit) -> Iterator[Table]:
    rows = [
        (revision, format_number(score), score.verdict, describe_coverage(score))
        for revision, score in compute_scores(audit.validation).items()
    ]
    rows += [
        (revision, "-", "-", f"not supported: {reason}")
        for revision, reason in sorted(audit.validation.unsupported.items())
    ]
    yield Table(VALIDATION, "Scores", ("revision", "score", "verdict", "coverage"), rows)


def _list_authorization(audit: Audit) -> Iterator[Table]:
    found = audit.authorization
    yield Table(AUTHORIZATION, "Challenge and metadata", ("what", "value"), list(found.facts))
    rows = [
        (
            result.requirement.id,
            result.revision,
            result.outcome.verdict.value.replace("_", " "),
            result.outcome.message,
        )
        for result in found.results
        if result.outcome.verdict is not Verdict.NOT_APPLICABLE
    ]
    heads = ("requirement", "revision", "result", "reason")
    yield Table(AUTHORIZATION, "Checks", heads, rows)


def _list_lint(audit: Audit) -> Iterator[Table]:
    if audit.lint is None:
        return
    grades = {each.name: each for each in audit.lint.grade.tools} if audit.lint.grade else {}
    costs = sorted(audit.lint.costs, key=lambda it: -it.tokens)
    rows = [
        (
            cost.name,
            f"{cost.tokens:,}",
            f"{cost.input_schema:,}",
            f"{cost.output_schema:,}" if cost.output_schema else "-",
            grades[cost.name].tier if cost.name in grades else "-",
        )
        for cost in costs[:_MAX_TOOLS]
    ]
    heads = ("tool", "tokens", "input schema", "output schema", "grade")
    more = f" (the {_MAX_TOOLS} largest of {len(costs)})" if len(costs) > _MAX_TOOLS else ""
    yield Table(LINT, f"Token cost of tools{more}", heads, rows)


def _list_robustness(audit: Audit) -> Iterator[Table]:
    result = audit.robustness
    if result is None:
        return
    facts = [
        ("intensity", f"{result.intensity.name}, seed {result.seed}"),
        *((f"revision over {name}", value) for name, value in result.revisions.items()),
        *(
            (f"tools called over {name}", ", ".join(tools) or "none")
            for name, tools in result.tools.items()
        ),
        *(
            (
                f"memory over {name}",
                " → ".join(f"{size / _MIB:.0f}" for size in sizes) + " MiB",
            )
            for name, sizes in result.memory.items()
        ),
    ]
    yield Table(ROBUSTNESS, "Conditions", ("what", "value"), facts)
    rows = [
        (
            row.experiment.id,
            row.transport,
            row.experiment.title,
            str(row.messages) if row.messages else "-",
            _describe_result(row),
        )
        for row in result.rows
        if row.is_applicable
    ]
    heads = ("experiment", "transport", "what is sent", "messages", "result")
    yield Table(ROBUSTNESS, "Experiments", heads, rows)


def _describe_result(row: Row) -> str:
    if row.faults:
        return ", ".join(row.faults)
    return f"not exercised: {row.skipped}" if row.skipped else "ok"
