"""The report of an evaluation as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator

from mcpgen.factory.eval.compare import VERDICTS, Comparison, sum_up_common
from mcpgen.factory.eval.report import Evaluation
from mcpgen.factory.review.texts import escape, format_cell, format_code

_FIGURES = (
    ("tasks passed", "passed"),
    ("calls", "calls"),
    ("errors", "errors"),
    ("tokens of definitions", "definition_tokens"),
    ("tokens of results", "result_tokens"),
)


def format_markdown(evaluation: Evaluation, comparison: Comparison | None) -> str:
    """Return the page."""
    return "\n".join([*_iterate_lines(evaluation, comparison), ""])


def _iterate_lines(evaluation: Evaluation, comparison: Comparison | None) -> Iterator[str]:
    passed = len(evaluation.tasks) - evaluation.failed
    yield f"# Evaluation of {escape(evaluation.server)}"
    yield ""
    count, agent = len(evaluation.tasks), format_code(evaluation.agent)
    yield f"{passed} of {count} tasks passed. Agent: {agent}."
    yield ""
    yield "| task | outcome | calls | errors | tokens of definitions | tokens of results |"
    yield "|---|---|---|---|---|---|"
    for result in evaluation.tasks:
        it = result.summarize()
        outcome = "passed" if it.passed else "**failed**"
        figures = f"{it.calls} | {it.errors} | {it.definition_tokens:,} | {it.result_tokens:,}"
        yield f"| {format_cell(it.id)} | {outcome} | {figures} |"
    failed = [result for result in evaluation.tasks if result.reasons]
    if failed:
        yield "\n## Failed tasks\n"
    for result in failed:
        yield f"- {format_code(result.id)}: {escape(result.goal)}"
        yield from (f"    - {escape(reason)}" for reason in result.reasons)
    if comparison is not None:
        yield from _compare(comparison)


def _compare(comparison: Comparison) -> Iterator[str]:
    before, after = sum_up_common(comparison)
    yield f"\n## Since {format_code(comparison.since)}\n"
    if comparison.has_other_agent:
        yield f"- another agent: {format_code(comparison.before.agent)}"
    for verdict in VERDICTS:
        names = ", ".join(map(format_code, comparison.list_tasks(verdict)))
        if names:
            yield f"- {verdict}: {names}"
    yield "- of the tasks in both:\n"
    yield "| | before | after |"
    yield "|---|---|---|"
    for title, name in _FIGURES:
        yield f"| {title} | {before[name]:,} | {after[name]:,} |"
