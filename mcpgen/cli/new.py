"""`mcpgen new`: an API description becomes a server package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mcpgen.cli.command import command
from mcpgen.cli.exit_codes import ExitCode
from mcpgen.cli.misuse import MisuseError
from mcpgen.cli.report import Printer


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new")(command(new))


def new(
    printer: Printer,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE", help="An OpenAPI document: a file or a URL; or a manifest."
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Where the package goes; NAME-mcp here by default."),
    ] = None,
    *,
    empty: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Make a server without a document, whose handlers you write; DIR may follow.",
        ),
    ] = "",
    name: Annotated[
        str, typer.Option(help="What the server is called; by default as the API is.")
    ] = "",
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Ask nothing; take every default.")
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Answer a question of the project skeleton."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Serve only what matches; a tag, path or operationId."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Leave such operations out.")
    ] = None,
    no_models: Annotated[
        bool, typer.Option("--no-models", help="Write no TypedDicts; quicker on huge documents.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse the document if an operation is left out.")
    ] = False,
) -> int:
    """Make a server package from an API description, or an empty one."""
    from mcpgen.cli import questions
    from mcpgen.factory.workspace.members import WorkspaceRefusedError, default_answers

    answers = dict(questions.parse_answer(pair) for pair in data or ())
    place = Path(source) if empty and source else directory
    try:
        answers = default_answers(place or Path("new")) | answers
    except WorkspaceRefusedError as refused:
        printer.problems(refused.problems)
        return printer.finish(ExitCode(refused.exit_code).outcome, refused.exit_code)
    if empty:
        if directory is not None or name or include or exclude or no_models or strict:
            raise MisuseError(
                "--empty makes a server without a document, so it takes only DIR and --data",
                help=f"`mcpgen new --empty {empty} DIR`",
            )
        return _new_by_hand(printer, empty, Path(source) if source else None, answers)
    if printer.asks and not defaults:
        order = questions.ask(source, directory, name, answers)
        source, directory, name = order.source, order.directory, order.name
        answers = dict(order.answers)
    if source is None:
        raise MisuseError(
            "SOURCE is missing, and there is nobody to ask",
            help="`mcpgen new openapi.yaml`, with the path or the URL of your API description",
        )

    from mcpgen.cli.summary import summarise
    from mcpgen.pipeline import commands as pipeline

    options = pipeline.Options(
        name=name,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        models=not no_models,
        strict=strict,
        answers=answers,
    )
    with printer.progress() as progress:
        report = pipeline.new(source, directory, options, progress)
    printer.problems(report.problems)
    if report.exit_code == ExitCode.DONE and report.plan is not None:
        summarise(printer, report.plan, report.target)
    return printer.finish(ExitCode(report.exit_code).outcome, report.exit_code)


def _new_by_hand(
    printer: Printer, name: str, directory: Path | None, answers: dict[str, str]
) -> int:
    from mcpgen.cli.summary import summarise_by_hand
    from mcpgen.pipeline import commands as pipeline

    with printer.progress() as progress:
        report = pipeline.new_by_hand(name, directory, answers, progress)
    printer.problems(report.problems)
    if report.exit_code == ExitCode.DONE and report.plan is not None:
        summarise_by_hand(printer, report.plan, report.target)
    return printer.finish(ExitCode(report.exit_code).outcome, report.exit_code)
