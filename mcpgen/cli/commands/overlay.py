"""`mcpgen overlay suggest`: an overlay of the repairs that a document needed."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpgen.cli.options import command
from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import GenerateOptions, Outcome


def add_to(app: typer.Typer) -> None:
    """Add the commands about overlays."""
    group = typer.Typer(no_args_is_help=True)
    group.command("suggest")(command(suggest))
    app.add_typer(group, name="overlay", help="Repair a document without changing its file.")


def suggest(
    printer: Printer,
    source: Annotated[
        str,
        typer.Argument(
            metavar="DIR|DOCUMENT", help="The folder of a server package, or an OpenAPI document."
        ),
    ] = ".",
) -> int:
    """Print an OpenAPI Overlay with the repairs that mcpgen makes while it reads a document."""
    import yaml

    from mcpgen.pipeline.commands.suggest_overlay import suggest as read

    with printer.progress() as progress:
        suggestion = read(source, GenerateOptions(external_validator=False), progress)
    printer.problems(suggestion.problems)
    if suggestion.overlay is not None:
        printer.fact(overlay=suggestion.overlay)
        printer.raw(
            yaml.safe_dump(suggestion.overlay, sort_keys=False, allow_unicode=True, width=100)
        )
    elif suggestion.outcome is Outcome.DONE:
        printer.note(
            "no-repairs",
            "no repair for an overlay",
            why="mcpgen read the document without a repair",
            help="the other problems need a decision by you",
        )
    return printer.finish(suggestion.outcome)
