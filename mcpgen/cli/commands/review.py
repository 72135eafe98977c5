"""`mcpgen review`: what changed in a server since a revision, for a pull request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Against, Directory, FailOn, FailOnLevel, MarkdownFile
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.summary import display_path

if TYPE_CHECKING:
    from mcpgen.factory.review.model import Review
    from mcpgen.factory.review.run import ReviewOptions


def review(
    printer: Printer,
    directory: Directory = Path(),
    *,
    against: Against = None,
    fail_on: FailOnLevel = None,
    markdown: MarkdownFile = None,
    sarif: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write SARIF 2.1.0.", rich_help_panel="Reports"),
    ] = None,
) -> int:
    """Report what a reviewer of a change has to know: tools, tokens, scores, findings, waivers.

    The files are linted now. Results of tests and of `mcpgen validate` come from their evidence;
    what has no evidence for the files as they are is listed as not verified.
    """
    from mcpgen.cli.output.review import format_findings, show_review
    from mcpgen.factory.review.report import format_facts
    from mcpgen.factory.review.run import review as run_review

    shown_as = "" if directory == Path() else display_path(directory)
    options = choose_review_options(against, fail_on)
    with printer.progress() as progress:
        report = run_review(directory, shown_as, options, progress)
    printer.problems(report.problems)
    if report.review is None:
        return printer.finish(report.outcome)
    _write_reports(report.review, markdown, sarif)
    printer.fact(**format_facts(report.review), findings=format_findings(report.review))
    show_review(printer, report.review)
    return printer.finish(report.outcome)


def _write_reports(found: Review, markdown: Path | None, sarif: Path | None) -> None:
    """Write the reports that were asked for.

    Raises:
        UsageError: a file cannot be written.
    """
    from mcpgen.cli.output.review import write_markdown
    from mcpgen.factory.review.markdown import format_review

    if markdown is not None:
        write_markdown(markdown, format_review(found))
    if sarif is None:
        return
    from mcpgen.changelog import RULES as CHANGES
    from mcpgen.cli.output.sarif import write_sarif
    from mcpgen.factory.lint.findings import RULES
    from mcpgen.factory.review.report import list_diagnostics
    from mcpgen.factory.validate.requirements import read_requirements

    problems = list(list_diagnostics(found))
    titles = {rule.id: rule.title for rule in RULES.values()}
    titles |= {it.id: it.requirement for it in read_requirements().requirement}
    titles |= {rule: f"A {level.word} change of the tools." for rule, level in CHANGES.items()}
    named = {problem.code for problem in problems}
    try:
        write_sarif(sarif, problems, {rule: titles[rule] for rule in titles if rule in named})
    except OSError as error:
        raise UsageError(f"cannot write {sarif}: {error.strerror}") from None


def choose_review_options(against: str | None, fail_on: FailOn | None) -> ReviewOptions:
    """Return the options of a review that is made today."""
    from mcpgen.changelog import Level
    from mcpgen.factory.review.run import ReviewOptions
    from mcpgen.factory.waivers import current_date

    level = Level[fail_on.name] if fail_on else None
    return ReviewOptions(today=current_date(), against=against, fail_on=level)
