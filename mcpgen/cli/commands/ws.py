"""`mcpgen ws`: run commands for the servers of a workspace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpgen.cli.app import write_bug_report
from mcpgen.cli.exit_codes import EXIT_CODES
from mcpgen.cli.options import Diff, DryRun, FailOnLevel, command
from mcpgen.cli.output.report import Printer, format_count
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress

if TYPE_CHECKING:
    from mcpgen.factory.workspace.commands import Request, WorkspaceReport
    from mcpgen.factory.workspace.fleet import ServerResult

_Servers = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SERVER]...", help="Servers, by path or folder name. By default, all."),
]
_Affected = Annotated[
    bool,
    typer.Option(
        "--affected", help="Skip servers that have not changed since the last run without problems."
    ),
]
_Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        metavar="N",
        help="The number of parallel jobs. By default, the number of cores.",
    ),
]


def init(printer: Printer, *, dry_run: DryRun = False) -> int:
    """Create mcpgen-workspace.yaml in this folder, for the servers below it.

    An existing mcpgen-workspace.yaml, here or in a parent folder, is never overwritten.
    """
    from mcpgen.factory.workspace.root_files import make_first_file, replace_file
    from mcpgen.ir.workspace import WORKSPACE_FILE

    made = make_first_file(Path.cwd())
    printer.fact(workspace=made.root.as_posix(), servers=list(made.servers), text=made.text)
    for server in made.servers:
        printer.result(visible(server))
    number = format_count(len(made.servers), "server")
    if dry_run:
        printer.result(f"{WORKSPACE_FILE} would be written, for {number}:")
        printer.raw(made.text)
        return printer.finish(Outcome.DONE)
    replace_file(made.root / WORKSPACE_FILE, made.text.encode())
    printer.result(f"{WORKSPACE_FILE} written, for {number}")
    printer.result("next: `mcpgen ws check`")
    return printer.finish(Outcome.DONE)


def list_servers(printer: Printer, servers: _Servers = None, *, affected: _Affected = False) -> int:
    """List the servers of a workspace."""
    from mcpgen.factory.workspace import commands

    workspace, rows = commands.list_servers(_request(servers, affected))
    left_out = [{"server": path, "reason": why} for path, why in workspace.apart.items()]
    printer.fact(workspace=workspace.root.as_posix(), servers=rows, left_out=left_out)
    _print_columns(printer, rows)
    for path, why in workspace.apart.items():
        printer.result(f"left out: {visible(path)} ({visible(why)})")
    return printer.finish(Outcome.DONE)


def generate(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    jobs: _Jobs = None,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> int:
    """Update servers, and the inventory at the root of the workspace."""
    if jobs != 1 and len(servers or ()) != 1 and not affected:  # so that there is much to do
        from mcpgen.factory.workspace.processes import begin

        begin()
    from mcpgen.factory.workspace import commands

    options = GenerateOptions(dry_run=dry_run, diff=diff)
    run = partial(commands.generate, options=options)
    return _show(printer, run, _request(servers, affected, jobs))


def check(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    jobs: _Jobs = None,
) -> int:
    """Check that servers and the inventory are current and unedited."""
    from mcpgen.factory.workspace import commands

    return _show(printer, commands.check, _request(servers, affected, jobs))


def pull(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    jobs: _Jobs = None,
    dry_run: DryRun = False,
) -> int:
    """Fetch the documents of servers anew without asking; `generate` then applies them."""
    from mcpgen.factory.workspace import commands

    run = partial(commands.pull, is_dry_run=dry_run)
    return _show(printer, run, _request(servers, affected, jobs))


def changelog(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    against: Annotated[
        str | None,
        typer.Option(metavar="REF", help="The git revision to compare with."),
    ] = None,
    fail_on: FailOnLevel = None,
    jobs: _Jobs = None,
) -> int:
    """Report what changed in the tools of servers, with a level for each change."""
    from mcpgen.changelog import Level
    from mcpgen.factory.workspace import commands

    level = Level[fail_on.name] if fail_on else None
    run = partial(commands.changelog, against=against, fail_on=level)
    return _show(printer, run, _request(servers, affected, jobs))


def run_tests(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    jobs: _Jobs = None,
) -> int:
    """Run the tests of servers, each with pytest in its own folder."""
    from mcpgen.factory.workspace import commands

    return _show(printer, commands.test, _request(servers, affected, jobs))


def upgrade(
    printer: Printer,
    servers: _Servers = None,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="PIN", help="The new version specifier of the workspace, such as 0.6.*"
        ),
    ] = "",
    jobs: _Jobs = None,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> int:
    """Update servers with the installed mcpgen, within the pinned versions or a new pin."""
    from mcpgen.factory.workspace import commands

    options = GenerateOptions(dry_run=dry_run, diff=diff)
    run = partial(commands.upgrade, to=to, options=options)
    return _show(printer, run, _request(servers, jobs=jobs))


def add_to(app: typer.Typer) -> None:
    """Add `ws` and its commands to the command line."""
    ws = typer.Typer(help="Run commands for all servers of a workspace.", no_args_is_help=True)
    ws.command("init")(command(init))
    ws.command("list")(command(list_servers))
    ws.command("generate")(command(generate))
    ws.command("check")(command(check))
    ws.command("pull")(command(pull))
    ws.command("changelog")(command(changelog))
    ws.command("test")(command(run_tests))
    ws.command("upgrade")(command(upgrade))
    app.add_typer(ws, name="ws")


def _request(
    servers: list[str] | None, only_affected: bool = False, jobs: int | None = None
) -> Request:
    from mcpgen.factory.workspace.commands import Request

    return Request(Path.cwd(), tuple(servers or ()), only_affected, jobs)


def _show(
    printer: Printer, run: Callable[[Request, Progress], WorkspaceReport], request: Request
) -> int:
    with printer.progress() as progress:
        report = run(request, progress)
    for result in report.servers:
        _show_server(printer, result)
    printer.problems(report.problems)
    for file, done in report.root_files.items():
        printer.result(f"{visible(file)}: {done}")
    _sum_up(printer, report)
    return printer.finish(report.outcome)


def _show_server(printer: Printer, result: ServerResult) -> None:
    printer.result(f"{visible(result.server)}: {visible(result.summary)}")
    if result.changelog is not None and result.changelog.changelog is not None:
        from mcpgen.cli.output.summary import show_changes

        show_changes(printer, result.changelog.changelog)
    if result.text:
        printer.raw(f"{result.text.rstrip()}\n")
    printer.problems(result.problems)
    if result.traceback:
        report = write_bug_report(result.traceback)
        printer.result(f"  the details are in {report}")


def _sum_up(printer: Printer, report: WorkspaceReport) -> None:
    printer.fact(
        workspace=report.root.as_posix(),
        servers=[
            {
                "server": result.server,
                "outcome": result.outcome.value,
                "exit_code": EXIT_CODES[result.outcome],
                "summary": result.summary,
                **result.facts,
                **_collect_changes(result),
            }
            for result in report.servers
        ],
        unaffected=report.unaffected,
        root_files=dict(report.root_files),
    )
    failed = sum(result.outcome is not Outcome.DONE for result in report.servers)
    total = len(report.servers) + report.unaffected
    parts = [format_count(total, "server")]
    if report.unaffected:
        parts.append(f"{report.unaffected:,} unaffected")
    parts.append(f"{failed or 'none'} failed")
    printer.result(", ".join(parts))


def _collect_changes(result: ServerResult) -> dict[str, Any]:
    """Return the changes of a server's tools for JSON output, if requested."""
    from mcpgen.cli.output.summary import collect_report_facts

    report = result.changelog
    if report is None or report.changelog is None:
        return {}
    return collect_report_facts(report, report.changelog)


def _print_columns(printer: Printer, rows: list[dict[str, str]]) -> None:
    """Print rows as a table, each column as wide as its widest cell."""
    if not rows:
        return
    lines = [list(rows[0]), *([visible(cell) for cell in row.values()] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        printer.result("  ".join(cells).rstrip())
