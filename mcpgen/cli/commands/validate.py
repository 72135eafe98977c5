"""`mcpgen validate`: an honest score of any MCP server, for each revision that it supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Server
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.wire.targets import Target


def validate(
    printer: Printer,
    target: Server = None,
    *,
    revision: Annotated[
        str, typer.Option(metavar="DATE", help="One revision, or all that the server supports.")
    ] = "all",
    transport: Annotated[str, typer.Option(metavar="NAME", help="stdio, http, sse or all.")] = "",
    min_score: Annotated[int, typer.Option(metavar="N", help="Fail below this score.")] = 0,
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header of every request.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A variable for the server's process."),
    ] = None,
    token_from: Annotated[
        str, typer.Option(metavar="VARIABLE", help="The variable that holds the access token.")
    ] = "",
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Also call tools that are not read-only.")
    ] = False,
) -> int:
    """Check a server against the requirements of MCP, and compute a score for each revision."""
    import asyncio

    from mcpgen.factory.validate import report, run
    from mcpgen.factory.validate.probe import ProbeOptions
    from mcpgen.factory.wire.session import REVISIONS
    from mcpgen.factory.wire.targets import TargetError, find_target

    if revision != "all" and revision not in REVISIONS:
        raise UsageError(f"unknown revision `{revision}`", help=f"one of {', '.join(REVISIONS)}")
    try:
        found = find_target(
            target or (), headers=header or (), environment=env or (), token_variable=token_from
        )
    except TargetError as error:
        raise UsageError(str(error), help=error.help) from None
    with printer.progress() as progress:
        validation = asyncio.run(
            run.validate(
                found,
                revisions=REVISIONS if revision == "all" else (revision,),
                transports=_choose_transports(found, transport),
                options=ProbeOptions(allow_writes=allow_writes),
                progress=progress,
            )
        )
    scores = report.compute_scores(validation)
    printer.fact(
        target=str(found),
        revisions={name: report.format_score(score) for name, score in scores.items()},
    )
    findings = [report.format_finding(result) for result in report.iterate_findings(validation)]
    printer.fact(checked=findings)
    if validation.trouble_kind:
        printer.error(validation.trouble_kind, visible(validation.trouble))
        return printer.finish(Outcome.FINDINGS, validation.trouble_kind)
    for name, score in scores.items():
        printer.result(f"{name}  {score.score}  {score.exercised}/{score.applicable}")
    for finding in findings:
        printer.result(f"{finding['revision']} {finding['rule']}: {visible(finding['message'])}")
    is_low = any(score.score < min_score or not score.is_reliable for score in scores.values())
    passed = not findings and not (min_score and is_low)
    return printer.finish(
        Outcome.DONE if passed else Outcome.FINDINGS, "passed" if passed else "failed"
    )


def _choose_transports(target: Target, name: str) -> tuple[str, ...]:
    if name and name != "all":
        return (name,)
    if target.url:
        return ("http",)
    return ("stdio", "http") if target.package is not None else ("stdio",)
