"""`mcpgen validate`: an honest score of any MCP server, for each revision that it supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.examined import choose_revisions, choose_transports
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import (
    AllowWrites,
    Env,
    ExaminedRevision,
    ExaminedTransport,
    Header,
    MarkdownFile,
    MinScore,
    Server,
    TokenFrom,
)
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.cli.targets import find_target
from mcpgen.cli.waivers import load_waivers
from mcpgen.diagnostics import Diagnostic, Problems, Severity, did_you_mean
from mcpgen.pipeline.options import Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.validate.official import ScenarioResult
    from mcpgen.factory.validate.probe import ProbeOptions
    from mcpgen.factory.validate.report import Finding
    from mcpgen.factory.validate.run import Validation
    from mcpgen.factory.wire.targets import Target

_OUTPUT = "Reports"


def validate(
    printer: Printer,
    target: Server = None,
    *,
    revision: ExaminedRevision = "all",
    transport: ExaminedTransport = "",
    min_score: MinScore = 0,
    explain: Annotated[
        str, typer.Option(metavar="ID", help="Explain a requirement, without any server.")
    ] = "",
    official: Annotated[
        bool,
        typer.Option(
            "--official",
            help="Also run the official conformance suite over HTTP, if Node and it are installed.",
        ),
    ] = False,
    allow_writes: AllowWrites = False,
    header: Header = None,
    env: Env = None,
    token_from: TokenFrom = "",
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a JUnit report.", rich_help_panel=_OUTPUT),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the findings as SARIF.", rich_help_panel=_OUTPUT),
    ] = None,
    markdown: MarkdownFile = None,
) -> int:
    """Check an MCP server against the requirements of each revision, and compute its scores."""
    if explain:
        return _explain(printer, explain)
    from mcpgen.factory.validate.probe import ProbeOptions
    from mcpgen.factory.validate.project import accept_findings, record_validation

    revisions = choose_revisions(revision)
    found = find_target(target, header=header, env=env, token_from=token_from)
    waivers = load_waivers(found.package)
    with printer.progress() as progress:
        validation, scenarios = _run(
            found,
            revisions=revisions,
            transports=choose_transports(found, transport),
            options=ProbeOptions(allow_writes=allow_writes),
            progress=progress,
            official=official,
        )
    of_waivers = accept_findings(validation, waivers)
    _write_reports(validation, of_waivers, junit=junit, sarif=sarif, markdown=markdown)
    if found.package is not None and revision == "all" and not transport:
        problems = Problems()
        record_validation(found.package, validation, problems)
        printer.problems(problems)
    _show_official(printer, scenarios)
    printer.problems(of_waivers)
    has_failed = any(not scenario.passed for scenario in scenarios)
    has_failed |= any(each.severity is Severity.ERROR for each in of_waivers)
    required_revisions = () if revision == "all" else (revision,)
    return _finish(printer, validation, min_score, required_revisions, has_failed=has_failed)


def _run(
    target: Target,
    *,
    revisions: Sequence[str],
    transports: Sequence[str],
    options: ProbeOptions,
    progress: Callable[[str], None],
    official: bool,
) -> tuple[Validation, list[ScenarioResult]]:
    import asyncio

    from mcpgen.factory.validate import run
    from mcpgen.factory.validate.official import OfficialSuiteError, run_official

    async def examine() -> tuple[Validation, list[ScenarioResult]]:
        validation = await run.validate(
            target,
            revisions=revisions,
            transports=transports,
            options=options,
            progress=progress,
        )
        if not official or validation.trouble_kind:
            return validation, []
        progress("the official suite")
        return validation, await run_official(target, validation.capabilities)

    try:
        return asyncio.run(examine())
    except OfficialSuiteError as error:
        raise UsageError(str(error), help=error.help) from None


# Output


def _finish(
    printer: Printer,
    validation: Validation,
    min_score: int,
    required_revisions: Sequence[str],
    *,
    has_failed: bool,
) -> int:
    from mcpgen.factory.validate import report
    from mcpgen.factory.validate.project import has_passed

    found = list(report.iterate_findings(validation))
    printer.fact(
        target=validation.target,
        revisions=report.format_revisions(validation),
        unsupported=validation.unsupported,
        undecided=report.format_undecided(validation),
        findings=[
            report.format_finding(result, validation.waived.get(result.requirement.id))
            for result in found
        ],
    )
    if validation.trouble_kind:
        printer.problems([report.describe_trouble(validation)])
        return printer.finish(Outcome.FINDINGS, validation.trouble_kind)
    _show_scores(printer, validation)
    _show_findings(printer, report.join_findings(validation), is_failure=True)
    undecided = report.join_undecided(validation)
    if printer.is_verbose:
        _show_findings(printer, undecided, is_failure=False)
    elif undecided:
        count = format_count(len(undecided), "requirement")
        printer.result(f"\n{count} not decided; --verbose lists them")
    passed = has_passed(validation, min_score, required_revisions) and not has_failed
    return printer.finish(
        Outcome.DONE if passed else Outcome.FINDINGS, "passed" if passed else "failed"
    )


def _show_scores(printer: Printer, validation: Validation) -> None:
    from mcpgen.factory.validate.report import compute_scores, describe_coverage, format_number

    for revision, score in compute_scores(validation).items():
        number = f"{format_number(score):>4}"
        printer.result(f"{revision}  {number}  {score.verdict}  {describe_coverage(score)}")
    for revision, reason in sorted(validation.unsupported.items()):
        printer.result(f"{revision}     -  not supported: {visible(reason)[:150]}")


def _show_findings(printer: Printer, found: Sequence[Finding], *, is_failure: bool) -> None:
    for finding in found:
        requirement = finding.requirement
        word = requirement.level.upper() if is_failure else "not decided"
        printer.result(f"\n{word}  {requirement.id}: {visible(finding.message)}")
        printer.result(f"      in:   {', '.join(finding.places)}")
        if is_failure:
            printer.result(f"      why:  {requirement.why}")
            printer.result(f"      help: {requirement.help}")
        if finding.waived:
            printer.result(f"      waived {visible(str(finding.waived))}")


def _show_official(printer: Printer, scenarios: Sequence[ScenarioResult]) -> None:
    if not scenarios:
        return
    printer.fact(
        official=[
            {"scenario": it.name, "revision": it.revision, "passed": it.passed, "checks": it.counts}
            for it in scenarios
        ]
    )
    passed = sum(it.passed for it in scenarios)
    printer.result(f"official suite: {passed} of {len(scenarios)} applicable scenarios passed")
    for scenario in scenarios:
        if not scenario.passed:
            printer.result(f"  failed: {scenario.name} ({scenario.revision})")


def _write_reports(
    validation: Validation,
    of_waivers: Sequence[Diagnostic],
    *,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
) -> None:
    """Write the reports that were asked for.

    Raises:
        UsageError: a file cannot be written.
    """
    from mcpgen.cli.output.sarif import write_sarif
    from mcpgen.factory.junit import add_to_report
    from mcpgen.factory.validate import report
    from mcpgen.factory.validate.requirements import read_requirements

    try:
        if junit is not None:
            junit.unlink(missing_ok=True)
            add_to_report(junit, report.group_results(validation))
        if markdown is not None:
            markdown.parent.mkdir(parents=True, exist_ok=True)
            markdown.write_text(
                report.format_markdown(validation), "utf-8", errors="backslashreplace"
            )
        if sarif is not None:
            rules = {it.id: it.requirement for it in read_requirements().requirement}
            write_sarif(sarif, [*report.list_diagnostics(validation), *of_waivers], rules)
    except OSError as error:
        raise UsageError(f"cannot write `{error.filename}`: {error.strerror}") from None


def _explain(printer: Printer, requirement_id: str) -> int:
    """Print a requirement.

    Raises:
        UsageError: it is unknown.
    """
    from mcpgen.factory.validate.requirements import read_requirements

    table = read_requirements()
    found = table.find(requirement_id)
    if found is None:
        known = [it.id for it in table.requirement]
        hint = did_you_mean(requirement_id, known, "docs/reference/requirements.md lists all")
        raise UsageError(f"unknown requirement `{requirement_id}`", help=hint)
    facts = {
        "id": found.id,
        "level": found.level,
        "requirement": found.requirement,
        "why": found.why,
        "help": found.help,
        "section": found.section,
        "since": found.since,
        "until": found.until,
        "transport": found.transport,
        "applies_if": found.applies_if,
        "rows": list(found.rows),
    }
    printer.fact(requirement=facts)
    printer.result(f"{found.id} ({found.level.upper()})")
    printer.result(f"  {found.requirement}")
    printer.result(f"  why:       {found.why}")
    printer.result(f"  help:      {found.help}")
    printer.result(f"  section:   {found.section}")
    printer.result(f"  revisions: {found.since} to {found.until}")
    printer.result(f"  transport: {found.transport}")
    if found.applies_if:
        printer.result(f"  applies:   if the server declares {found.applies_if}")
    return printer.finish(Outcome.DONE)
