"""`mcpgen ws`: run commands for the servers of a workspace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpgen.cli import completion_values
from mcpgen.cli.app import write_bug_report
from mcpgen.cli.commands.review import choose_review_options
from mcpgen.cli.exit_codes import EXIT_CODES, UsageError
from mcpgen.cli.options import (
    Against,
    BundleFormats,
    Diff,
    DryRun,
    FailOnLevel,
    LintTargets,
    MarkdownFile,
    MinScore,
    SourceCommit,
    StartToBundle,
    StartToLint,
    Strict,
    TokensBudget,
    command,
)
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Severity
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.diagnostics import Diagnostic
    from mcpgen.factory.workspace.commands import Request, WorkspaceReport
    from mcpgen.factory.workspace.fleet import ServerResult
    from mcpgen.factory.workspace.shards import Shard

_Servers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SERVER]...",
        help="Servers, by path or folder name. By default, all.",
        autocompletion=completion_values.list_servers,
    ),
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
_Shard = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Only part I of N: the servers are split evenly over N machines, always alike.",
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


def list_servers(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
) -> int:
    """List the servers of a workspace."""
    from mcpgen.factory.workspace import commands

    workspace, rows = commands.list_servers(_request(servers, shard, affected))
    skipped = [{"server": path, "reason": why} for path, why in workspace.apart.items()]
    printer.fact(workspace=workspace.root.as_posix(), servers=rows, left_out=skipped)
    _print_columns(printer, rows)
    for path, why in workspace.apart.items():
        printer.result(f"skipped: {visible(path)} ({visible(why)})")
    return printer.finish(Outcome.DONE)


def generate(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
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
    return _show(printer, run, _request(servers, shard, affected, jobs))


def check(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
    jobs: _Jobs = None,
) -> int:
    """Check that servers and the inventory are current and unedited."""
    from mcpgen.factory.workspace import commands

    return _show(printer, commands.check, _request(servers, shard, affected, jobs))


def status(
    printer: Printer,
    servers: _Servers = None,
    *,
    shard: _Shard = None,
    strict: Strict = False,
) -> int:
    """Show the stage of each server, what is stale, and the next command, from evidence alone."""
    # The commands for a fleet import much, and this one reads files only.
    from datetime import UTC, datetime

    import msgspec

    from mcpgen.cli.output.status_table import show_servers
    from mcpgen.factory.status.examine import examine_server, is_in_order
    from mcpgen.factory.workspace.members import open_workspace
    from mcpgen.pipeline.project.evidence import format_time

    workspace = open_workspace(Path.cwd())
    chosen = workspace.select(servers or (), Path.cwd())
    part = _parse_shard(shard)
    chosen = chosen if part is None else part.select(chosen)
    now = datetime.now(UTC)
    found = [examine_server(it.target, it.path, it.owners, now) for it in chosen]
    printer.fact(
        workspace=workspace.root.as_posix(),
        now=format_time(now),
        servers=msgspec.to_builtins(found),
    )
    show_servers(printer, found, now)
    is_fine = all(is_in_order(it, is_strict=strict) for it in found)
    return printer.finish(Outcome.DONE if is_fine else Outcome.FINDINGS)


def pull(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
    jobs: _Jobs = None,
    dry_run: DryRun = False,
) -> int:
    """Fetch the documents of servers anew without asking; `generate` then applies them."""
    from mcpgen.factory.workspace import commands

    run = partial(commands.pull, is_dry_run=dry_run)
    return _show(printer, run, _request(servers, shard, affected, jobs))


def changelog(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
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
    return _show(printer, run, _request(servers, shard, affected, jobs))


def run_tests(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
    jobs: _Jobs = None,
) -> int:
    """Run the tests of servers, each with pytest in its own folder."""
    from mcpgen.factory.workspace import commands

    return _show(printer, commands.test, _request(servers, shard, affected, jobs))


def lint(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
    targets: LintTargets = None,
    tokens_budget: TokensBudget = None,
    start: StartToLint = False,
    jobs: _Jobs = None,
) -> int:
    """Check the tools of servers for clients and models, and record the evidence."""
    from mcpgen.cli.commands.lint import choose_settings
    from mcpgen.factory.workspace import commands
    from mcpgen.factory.workspace.checks import LintOptions

    choose_settings(None, targets or [], tokens_budget)  # rejects unknown targets
    options = LintOptions(targets=tuple(targets or ()), budget=tokens_budget, is_started=start)
    run = partial(commands.lint, options=options)
    return _show(printer, run, _request(servers, shard, affected, jobs), hides_notes=True)


def validate(
    printer: Printer,
    servers: _Servers = None,
    *,
    affected: _Affected = False,
    shard: _Shard = None,
    min_score: MinScore = 0,
    jobs: _Jobs = None,
) -> int:
    """Check servers against the requirements of each revision, and record the scores."""
    from mcpgen.factory.workspace import commands

    run = partial(commands.validate, min_score=min_score)
    return _show(printer, run, _request(servers, shard, affected, jobs), hides_notes=True)


def bundle(
    printer: Printer,
    servers: _Servers = None,
    *,
    formats: BundleFormats = "all",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to write, in a folder for each server. By default, `dist/` of each server.",
        ),
    ] = None,
    source_commit: SourceCommit = "",
    start: StartToBundle = False,
    shard: _Shard = None,
    jobs: _Jobs = None,
    dry_run: DryRun = False,
) -> int:
    """Build the bundles of servers."""
    from mcpgen.cli.commands.bundle import choose_options
    from mcpgen.factory.workspace import commands

    options = choose_options(formats, source_commit=source_commit, start=start, dry_run=dry_run)
    run = partial(commands.bundle, options=options, out=out)
    return _show(printer, run, _request(servers, shard, jobs=jobs), hides_notes=True)


def review(
    printer: Printer,
    servers: _Servers = None,
    *,
    against: Against = None,
    fail_on: FailOnLevel = None,
    markdown: MarkdownFile = None,
    jobs: _Jobs = None,
    shard: _Shard = None,
) -> int:
    """Review the servers that changed since a revision, or have changes that are not committed."""
    from mcpgen.cli.output.review import show_workspace_review, write_markdown
    from mcpgen.factory.review.workspace import review_workspace
    from mcpgen.factory.review.workspace_markdown import format_workspace

    options = choose_review_options(against, fail_on)
    with printer.progress() as progress:
        found = review_workspace(_request(servers, shard, jobs=jobs), options, progress)
    if markdown is not None:
        write_markdown(markdown, format_workspace(found))
    show_workspace_review(printer, found)
    return printer.finish(found.outcome)


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
    shard: _Shard = None,
    jobs: _Jobs = None,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> int:
    """Update servers with the installed mcpgen, within the pinned versions or a new pin."""
    from mcpgen.factory.workspace import commands

    options = GenerateOptions(dry_run=dry_run, diff=diff)
    run = partial(commands.upgrade, to=to, options=options)
    return _show(printer, run, _request(servers, shard, jobs=jobs))


def merge_evidence(
    printer: Printer,
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="Copies of the workspace, or of its folders .mcpgen/evidence with their paths.",
        ),
    ],
    *,
    dry_run: DryRun = False,
) -> int:
    """Combine the evidence that several machines recorded, such as shards in CI.

    For each check of a server, evidence of the current inputs wins, then the newest.
    """
    from mcpgen.factory.workspace import commands

    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder")
    report = commands.merge_evidence(Path.cwd(), folders, is_dry_run=dry_run)
    printer.problems(report.problems)
    printer.fact(
        evidence=[
            {
                "server": each.chosen.server,
                "check": each.chosen.check,
                "file": each.chosen.path,
                "folder": each.chosen.folder or None,
                "current": each.is_current,
            }
            for each in report.merged
        ],
        root_files=list(report.root_files),
        written=not dry_run,
    )
    done = "to write" if dry_run else "written"
    for each in report.merged:
        if each.is_new:
            state = "" if each.is_current else ", stale"
            name, place = visible(each.chosen.server), visible(each.chosen.folder)
            printer.result(f"{name}: {each.chosen.check} from {place}{state}")
    for file in report.root_files:
        printer.result(f"{visible(file)}: {done}")
    new = sum(each.is_new for each in report.merged)
    printer.result(f"{format_count(new, 'result')} {done}, {len(report.merged) - new:,} kept")
    return printer.finish(report.outcome)


def add_to(app: typer.Typer) -> None:
    """Add `ws` and its commands to the command line."""
    ws = typer.Typer(help="Run commands for all servers of a workspace.", no_args_is_help=True)
    ws.command("init")(command(init))
    ws.command("list")(command(list_servers))
    ws.command("generate")(command(generate))
    ws.command("check")(command(check))
    ws.command("status")(command(status))
    ws.command("pull")(command(pull))
    ws.command("changelog")(command(changelog))
    ws.command("test")(command(run_tests))
    ws.command("validate")(command(validate))
    ws.command("lint")(command(lint))
    ws.command("bundle")(command(bundle))
    ws.command("merge-evidence")(command(merge_evidence))
    ws.command("upgrade")(command(upgrade))
    ws.command("review")(command(review))
    app.add_typer(ws, name="ws")


def _request(
    servers: list[str] | None,
    shard: str | None,
    only_affected: bool = False,
    jobs: int | None = None,
) -> Request:
    from mcpgen.factory.workspace.commands import Request

    return Request(Path.cwd(), tuple(servers or ()), only_affected, jobs, _parse_shard(shard))


def _parse_shard(text: str | None) -> Shard | None:
    """Parse the value of `--shard`.

    Raises:
        UsageError: it names no shard.
    """
    if text is None:
        return None
    from mcpgen.factory.workspace.shards import Shard, ShardError

    try:
        return Shard.parse(text)
    except ShardError as error:
        raise UsageError(str(error), help=error.help) from None


def _show(
    printer: Printer,
    run: Callable[[Request, Progress], WorkspaceReport],
    request: Request,
    *,
    hides_notes: bool = False,
) -> int:
    """Run a command and show its report.

    `hides_notes` leaves notes to `--verbose` and `--json`: many servers have many hints.
    """
    with printer.progress() as progress:
        report = run(request, progress)
    hides_notes = hides_notes and not (printer.is_verbose or printer.as_json)
    for result in report.servers:
        _show_server(printer, result, hides_notes=hides_notes)
    printer.problems(report.problems)
    for file, done in report.root_files.items():
        printer.result(f"{visible(file)}: {done}")
    _sum_up(printer, report, request.shard)
    if hides_notes and any(map(_is_note, (it for each in report.servers for it in each.problems))):
        printer.result("--verbose lists the notes")
    return printer.finish(report.outcome)


def _is_note(problem: Diagnostic) -> bool:
    return problem.severity is Severity.NOTE


def _show_server(printer: Printer, result: ServerResult, *, hides_notes: bool) -> None:
    printer.result(f"{visible(result.server)}: {visible(result.summary)}")
    if result.changelog is not None and result.changelog.changelog is not None:
        from mcpgen.cli.output.summary import show_changes

        show_changes(printer, result.changelog.changelog)
    if result.text:
        printer.raw(f"{result.text.rstrip()}\n")
    printer.problems(it for it in result.problems if not (hides_notes and _is_note(it)))
    if result.traceback:
        report = write_bug_report(result.traceback)
        printer.result(f"  the details are in {report}")


def _sum_up(printer: Printer, report: WorkspaceReport, shard: Shard | None) -> None:
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
        shard=str(shard) if shard else None,
        root_files=dict(report.root_files),
    )
    failed = sum(result.outcome is not Outcome.DONE for result in report.servers)
    total = len(report.servers) + report.unaffected
    parts = [format_count(total, "server")]
    if report.unaffected:
        parts.append(f"{report.unaffected:,} unaffected")
    parts.append(f"{failed or 'none'} failed")
    name = f"shard {shard}: " if shard else ""
    printer.result(name + ", ".join(parts))


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
