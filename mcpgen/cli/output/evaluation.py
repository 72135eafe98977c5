"""Output of evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible

if TYPE_CHECKING:
    from mcpgen.factory.eval.compare import Comparison
    from mcpgen.factory.eval.report import Evaluation


def show_evaluation(printer: Printer, evaluation: Evaluation) -> None:
    """Print the outcome of each task, and why those that failed did."""
    width = max((len(it.id) for it in evaluation.tasks), default=4)
    columns = f"{'calls':>5}  {'errors':>6}  {'definitions':>11}  {'results':>7}"
    printer.result(f"{'task':<{width}}  outcome  {columns}")
    for result in evaluation.tasks:
        it = result.summarize()
        figures = f"{it.calls:>5}  {it.errors:>6}  {it.definition_tokens:>11,}"
        outcome = "passed" if it.passed else "failed"
        printer.result(f"{it.id:<{width}}  {outcome:<7}  {figures}  {it.result_tokens:>7,}")
    for result in evaluation.tasks:
        if result.reasons:
            printer.result(f"\nfailed  {result.id}: {visible(' '.join(result.goal.split()))}")
            for reason in result.reasons:
                printer.result(f"      why:  {visible(reason)}")
    passed = len(evaluation.tasks) - evaluation.failed
    agent = visible(evaluation.agent)
    printer.result(f"\n{passed} of {len(evaluation.tasks)} passed; agent: {agent}")


def show_comparison(printer: Printer, comparison: Comparison) -> None:
    """Print which tasks were won and lost, and the tokens before and after."""
    from mcpgen.factory.eval.compare import VERDICTS, sum_up_common

    printer.result(f"\nsince {visible(comparison.since)}:")
    for verdict in VERDICTS:
        names = ", ".join(map(visible, comparison.list_tasks(verdict)))
        if names:
            printer.result(f"  {verdict + ':':<8} {names}")
    before, after = sum_up_common(comparison)
    for title, name in (
        ("passed", "passed"),
        ("calls", "calls"),
        ("tokens of definitions", "definition_tokens"),
        ("tokens of results", "result_tokens"),
    ):
        printer.result(f"  {title:<21}  {before[name]:>9,} -> {after[name]:,}")
