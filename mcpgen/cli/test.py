"""`mcpgen test`: a server's tests, and what they are worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import ExitCode
from mcpgen.cli.packages import find_package
from mcpgen.cli.report import Printer, counted, visible

if TYPE_CHECKING:
    from mcpgen.factory.testing.mutation.campaign import Campaign
    from mcpgen.factory.testing.run import SuiteResult

_DEFAULT_MUTANTS = 200


def run_tests(
    printer: Printer,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A package that `mcpgen new` made.")
    ] = Path(),
    *,
    select: Annotated[
        str, typer.Option("-k", metavar="EXPR", help="Only tests whose names fit, as in pytest.")
    ] = "",
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report in JUnit's XML.")
    ] = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Put faults in, one by one: do the tests fail?")
    ] = False,
    limit: Annotated[
        int, typer.Option(metavar="N", help="Try N faults, of each kind in turn; 0: all.", min=0)
    ] = _DEFAULT_MUTANTS,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Faults at a time; by default a core each.", min=1),
    ] = None,
) -> int:
    """Run the tests of a package, its own and those that were generated."""
    from mcpgen.factory.testing.mutation.campaign import UnsoundSuiteError
    from mcpgen.factory.testing.mutation.package import NoPackageError
    from mcpgen.factory.testing.proof import Mutating, campaign_facts, prove
    from mcpgen.factory.workspace.fleet import usable_cores

    package = find_package(directory)
    mutating = Mutating(limit, jobs or usable_cores()) if mutate else None
    try:
        with printer.progress() as progress:
            proof = prove(
                package.directory,
                select=select,
                junit=junit,
                mutating=mutating,
                progress=progress,
            )
    except NoPackageError as error:
        printer.error("nothing-to-mutate", str(error), help="its own tests run without `--mutate`")
        return printer.finish("usage", ExitCode.USAGE)
    except UnsoundSuiteError as error:
        printer.error("unsound-suite", f"without any fault, `{error}` fails in this process")
        return printer.finish("findings", ExitCode.FINDINGS)
    _show_suite(printer, proof.suite)
    if proof.campaign is not None:
        printer.fact(mutation=campaign_facts(proof.campaign))
        _show_campaign(printer, proof.campaign)
    if proof.passed:
        return printer.finish("done", ExitCode.DONE)
    return printer.finish("findings", ExitCode.FINDINGS)


def _show_suite(printer: Printer, suite: SuiteResult) -> None:
    printer.fact(
        tests=suite.counts,
        groups=[
            {
                "group": group.name,
                "passed": group.passed,
                "failed": [{"test": test, "reason": reason} for test, reason in group.failed],
                "untested": [{"test": test, "reason": why} for test, why in group.untested],
            }
            for group in suite.groups
        ],
    )
    if not suite.groups:
        printer.raw(suite.output)
    width = max((len(group.name) for group in suite.groups), default=0)
    for group in suite.groups:
        figures = [f"{group.passed} passed"]
        figures += [f"{len(group.failed)} failed"] if group.failed else []
        figures += [f"{len(group.untested)} untested"] if group.untested else []
        printer.result(f"{visible(group.name):<{width}}  {', '.join(figures)}")
        for test, reason in group.failed:
            printer.result(f"  failed: {visible(test)}")
            for line in reason.splitlines():
                printer.result(f"    {visible(line)}")
        for test, reason in group.untested:
            printer.result(f"  untested: {visible(test)}: {visible(reason)}")
    printer.result(visible(suite.summary))


def _show_campaign(printer: Printer, campaign: Campaign) -> None:
    from mcpgen.factory.testing.mutation.equivalence import RULES

    killed, survived = campaign.those("killed"), campaign.those("survived")
    by_calls = sum(verdict.is_call for verdict in killed)
    for verdict in survived:
        mutant = verdict.mutant
        printer.result(f"survived: {mutant.operator}: {visible(mutant.what)}")
        printer.result(f"  --> {visible(mutant.place)}")
    equivalent = campaign.those("equivalent")
    for rule in dict.fromkeys(verdict.mutant.equivalent for verdict in equivalent):
        number = sum(verdict.mutant.equivalent == rule for verdict in equivalent)
        printer.result(f"equivalent: {number:,} by `{rule}`: {RULES[rule]}")
    printer.result(
        f"{counted(len(campaign.verdicts), 'fault')} of {campaign.possible:,} tried:"
        f" {len(killed):,} killed ({by_calls:,} by a call, {len(killed) - by_calls:,} by a check of"
        f" the whole), {len(survived):,} survived, {len(equivalent):,} equivalent"
    )
    if campaign.score is not None:
        printer.result(f"{campaign.score:.1%} of those that are not equivalent were killed")
