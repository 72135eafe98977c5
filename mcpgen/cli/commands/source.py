"""`mcpgen source`: add an API description to a package, or remove one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.options import Directory, DryRun, Yes, command
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.cli.questions import confirm_write
from mcpgen.pipeline.options import GenerateOptions, Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.pipeline.commands.source import SourceChange


def add(
    printer: Printer,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="An OpenAPI document: a file or a URL.")
    ],
    directory: Directory = Path(),
    *,
    name: Annotated[
        str,
        typer.Option(
            "--name", help="The name of the source. By default, derived from the title of its API."
        ),
    ] = "",
    prefix: Annotated[
        str | None,
        typer.Option(
            "--prefix", help='The prefix of its tool names; "" for none. By default, its name.'
        ),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> int:
    """Add an API description to a package, and update the package.

    The document is copied into the package, its origin is recorded, and an entry is added to
    mcpgen.yaml. The tools and settings of other sources do not change.
    """
    from mcpgen.pipeline.commands.source import add_source

    options = GenerateOptions(dry_run=dry_run)
    with printer.progress() as progress:
        change = add_source(directory, source, options, progress, name=name, prefix=prefix)
    return _finish(printer, change, options, with_confirmation=not yes)


def remove(
    printer: Printer,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The name of the source, or the path of its document."),
    ],
    directory: Directory = Path(),
    *,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> int:
    """Remove an API description from a package, and update the package.

    This removes its entry in mcpgen.yaml, its document and its tools, and reports what else depends
    on it. The tools and settings of other sources do not change.
    """
    from mcpgen.pipeline.commands.source import remove_source

    options = GenerateOptions(dry_run=dry_run)
    with printer.progress() as progress:
        change = remove_source(directory, name, options, progress)
    return _finish(printer, change, options, with_confirmation=not yes)


def add_to(app: typer.Typer) -> None:
    """Add `source` and its commands to the command line."""
    source = typer.Typer(
        help="Add or remove the API descriptions of a package.", no_args_is_help=True
    )
    source.command("add")(command(add))
    source.command("remove")(command(remove))
    app.add_typer(source, name="source")


def _finish(
    printer: Printer, change: SourceChange, options: GenerateOptions, *, with_confirmation: bool
) -> int:
    """Show a change, ask for confirmation in a terminal, and write it."""
    report = change.report
    printer.problems(report.problems)
    _show(printer, change)
    if change.prepared is None or options.dry_run:
        printer.fact(written=list(report.written), deleted=list(report.deleted))
        return printer.finish(report.outcome)
    if with_confirmation and printer.can_ask and not confirm_write():
        printer.result("nothing was written")
        return printer.finish(Outcome.DONE, "declined")
    from mcpgen.pipeline.commands.source import write_source_change

    reported = len(report.problems)
    report = write_source_change(change, options)
    printer.problems(list(report.problems)[reported:])
    printer.fact(written=list(report.written), deleted=list(report.deleted))
    if report.written:
        deleted = f", {len(report.deleted)} deleted" if report.deleted else ""
        printer.result(f"{format_count(len(report.written), 'file')} written{deleted}")
    return printer.finish(report.outcome)


def _show(printer: Printer, change: SourceChange) -> None:
    from mcpgen.cli.output.summary import collect_changelog_facts, count_changes, show_changes

    report = change.report
    found, plan = report.changelog, report.plan
    settings = [] if plan is None else list(plan.environment)
    new = [each for each in settings if each.name not in change.settings_before]
    gone = sorted({*change.settings_before} - {each.name for each in settings})
    printer.fact(
        source=change.name,
        written=[],
        deleted=[],
        tools=None if found is None else collect_changelog_facts(found),
        settings={"added": [each.name for each in new], "removed": gone},
    )
    if change.prepared is None:
        return
    if found is not None:
        printer.result(f"{count_changes(found)} in the tools")
        show_changes(printer, found)
    for title, lines in (
        ("The server also reads:", [f"{it.name}  {visible(it.description)}" for it in new]),
        ("The server does not read any more:", gone),
    ):
        if lines:
            printer.result(title)
            for line in lines:
                printer.result(f"  {line}")
