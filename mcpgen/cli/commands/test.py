"""Command `mcpgen test`: run a server's tests, measure them with mutants, or call the real API."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.completion_values import list_tools
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Directory, command
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.emit.reconcile import format_diff
from mcpgen.factory.packages import find_package
from mcpgen.pipeline.options import Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.test.live import Live
    from mcpgen.factory.test.mutation.campaign import Campaign
    from mcpgen.factory.test.own_tests import Updated
    from mcpgen.factory.test.proof import Proof
    from mcpgen.factory.test.results import SuiteResult

_DEFAULT_MUTANTS = 200
_LIVE = "Against the real API"
_MUTANTS = "What the tests are worth"

_Select = Annotated[
    str, typer.Option("-k", metavar="EXPR", help="Run only tests whose names match, as in pytest.")
]
_Update = Annotated[
    bool,
    typer.Option(
        "--update",
        help="Record the current results in mcpgen.tests.yaml, and the tools of handlers/."
        " Generated tests do not change.",
    ),
]
_JUnit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JUnit XML report.")]
_ImportMcpJest = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Create mcpgen.tests.yaml from a configuration of mcp-jest."),
]
_Mutate = Annotated[
    bool,
    typer.Option(
        "--mutate",
        help="Insert faults one at a time, and report those that no test detects.",
        rich_help_panel=_MUTANTS,
    ),
]
_Limit = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="The number of faults to insert, spread over their kinds; 0 for all.",
        min=0,
        rich_help_panel=_MUTANTS,
    ),
]
_Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="The number of processes for many tests or faults. By default, the number of cores.",
        min=1,
    ),
]
_Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Call the real API, with read-only tools.",
        rich_help_panel=_LIVE,
    ),
]
_LiveWrites = Annotated[
    bool,
    typer.Option("--live-writes", help="Also call tools that write.", rich_help_panel=_LIVE),
]
_Tool = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Call this tool, even if it writes; repeatable.",
        rich_help_panel=_LIVE,
        autocompletion=list_tools,
    ),
]
_Record = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Record the responses of the API, with secrets masked.",
        rich_help_panel=_LIVE,
    ),
]
_Replay = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Answer from a recording instead of the network.",
        rich_help_panel=_LIVE,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("test")(command(run_tests))


def run_tests(
    printer: Printer,
    directory: Directory = Path(),
    *,
    select: _Select = "",
    update: _Update = False,
    junit: _JUnit = None,
    import_mcp_jest: _ImportMcpJest = None,
    mutate: _Mutate = False,
    limit: _Limit = _DEFAULT_MUTANTS,
    jobs: _Jobs = None,
    live: _Live = False,
    live_writes: _LiveWrites = False,
    tool: _Tool = None,
    record: _Record = None,
    replay: _Replay = None,
) -> int:
    """Run the tests of a package: the generated ones and its own."""
    from mcpgen.factory.test.live import Live
    from mcpgen.factory.test.proof import Mutating, prove
    from mcpgen.factory.workspace.processes import usable_cores

    package = find_package(directory)
    if import_mcp_jest is not None:
        return _import(printer, package.directory, import_mcp_jest)
    if live or record is not None or replay is not None:
        if replay is not None and (live or record is not None):
            raise UsageError("--replay calls no API, so there is nothing live and no new record")
        if mutate or select or update:
            raise UsageError("-k, --update and --mutate are for the tests without the real API")
        live_run = Live(live_writes, frozenset(tool or ()), record, replay)
        return _call_api(printer, package.directory, live_run, junit)
    if live_writes or tool:
        raise UsageError("--tool and --live-writes choose what --live, --record or --replay calls")
    if mutate and select:
        raise UsageError("--mutate asks what all tests are worth, so -k cannot leave some out")
    if update and printer.is_unattended:
        raise UsageError(
            "--update records nothing where `CI` is set or with --ci: nobody looks at it there",
            help="run it at your desk, review what changed, and commit that",
        )
    processes = jobs or usable_cores()
    prove_package = partial(
        prove,
        package.directory,
        select=select,
        update=update,
        junit=junit,
        mutating=Mutating(limit, processes) if mutate else None,
        processes=processes,
    )
    return _prove(printer, prove_package)


def _prove(printer: Printer, prove: Callable[..., Proof]) -> int:
    from mcpgen.factory.test.mutation.campaign import UnsoundSuiteError
    from mcpgen.factory.test.proof import collect_campaign_facts
    from mcpgen.factory.test.run import MissingPackagesError, SelectionError

    try:
        with printer.progress() as progress:
            proof = prove(progress=progress)
    except SelectionError as error:
        raise UsageError(f"-k {error}") from None
    except MissingPackagesError as error:
        printer.error("missing-package", str(error), why=error.why, help=error.help)
        return printer.finish(Outcome.FINDINGS)
    except OSError as error:
        raise _unusable(error) from None
    except UnsoundSuiteError as error:
        printer.error("unsound-suite", f"the test `{error}` fails without any fault")
        return printer.finish(Outcome.FINDINGS)
    if proof.campaign is not None:
        printer.fact(mutation=collect_campaign_facts(proof.campaign))
    return _finish(printer, proof)


def _call_api(printer: Printer, directory: Path, live: Live, junit: Path | None) -> int:
    from mcpgen.factory.test.cassettes import CassetteError
    from mcpgen.factory.test.proof import prove_live

    try:
        return _finish(printer, prove_live(directory, live, junit=junit))
    except OSError as error:
        raise _unusable(error) from None
    except CassetteError as error:
        printer.error("cassette", str(error), help="`mcpgen test --record FILE` makes one")
        return printer.finish(Outcome.REJECTED)


def _unusable(error: OSError) -> Exception:
    """Return the usage error for a file that cannot be read or written; else the error itself.

    An error without a file is a bug, and a full disk is a system fault.
    """
    if error.filename is None or error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return error
    return UsageError(f"cannot use `{error.filename}`: {error.strerror}")


def _finish(printer: Printer, proof: Proof) -> int:
    printer.problems(proof.problems)
    if proof.problems.has_errors:
        return printer.finish(Outcome.REJECTED)
    _show_updated(printer, proof.updated)
    _show_suite(printer, proof.suite)
    if proof.campaign is not None:
        _show_campaign(printer, proof.campaign)
    return printer.finish(Outcome.DONE if proof.passed else Outcome.FINDINGS)


def _import(printer: Printer, directory: Path, source: Path) -> int:
    from mcpgen.factory.test.mcp_jest import NoConfigurationError, convert_mcp_jest
    from mcpgen.ir.file_set import TESTS_FILE

    target = directory / TESTS_FILE
    if target.exists():
        raise UsageError(
            f"`{target}` is there already", help="name another file, or move its cases away first"
        )
    try:
        cases = convert_mcp_jest(source.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read `{source}`: {error.strerror}") from None
    except NoConfigurationError as error:
        printer.error("mcp-jest", f"{source} is not a configuration of mcp-jest: {error}")
        return printer.finish(Outcome.REJECTED)
    target.write_bytes(cases.content)
    printer.fact(cases=cases.count, left_out=list(cases.skipped))
    for what in cases.skipped:
        printer.result(f"skipped: {visible(what)}")
    printer.result(f"{TESTS_FILE}: {format_count(cases.count, 'case')}")
    return printer.finish(Outcome.DONE)


def _show_updated(printer: Printer, updated: Sequence[Updated]) -> None:
    printer.fact(updated=[file.path for file in updated])
    for file in updated:
        diff = format_diff(file.path, file.before, file.after, ("recorded", "now"))
        printer.raw(f"{diff}\n")


def _show_suite(printer: Printer, suite: SuiteResult) -> None:
    printer.fact(
        tests=suite.counts,
        groups=[
            {
                "group": group.name,
                "passed": len(group.passed),
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
        figures = [f"{len(group.passed)} passed"]
        figures += [f"{len(group.failed)} failed"] if group.failed else []
        figures += [f"{len(group.untested)} untested"] if group.untested else []
        printer.result(f"{visible(group.name):<{width}}  {', '.join(figures)}")
        for test, reason in group.failed:
            printer.result(f"  failed: {visible(test)}")
            for line in reason.splitlines():
                printer.result(f"    {visible(line)}")
        for test, reason in group.untested if printer.is_verbose else ():
            printer.result(f"  untested: {visible(test)}: {visible(reason)}")
    number = sum(len(group.untested) for group in suite.groups)
    if number and not printer.is_verbose:
        tests = format_count(number, "test")
        printer.result(f"{tests} without a sample, or skipped; --verbose lists the reasons")
    printer.result(visible(suite.summary))


def _show_campaign(printer: Printer, campaign: Campaign) -> None:
    from mcpgen.factory.test.mutation.equivalence import RULES

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
        f"{format_count(len(campaign.verdicts), 'fault')} of {campaign.possible:,} tried:"
        f" {len(killed):,} killed ({by_calls:,} by a call, {len(killed) - by_calls:,} by a check of"
        f" the whole), {len(survived):,} survived, {len(equivalent):,} equivalent"
    )
    if campaign.score is not None:
        printer.result(f"{campaign.score:.1%} of those that are not equivalent were killed")
