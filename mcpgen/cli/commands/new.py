"""`mcpgen new`: an API description becomes a server package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import Options, Outcome

if TYPE_CHECKING:
    from mcpgen.ir.credentials import CredentialDestination, HiddenCredential

_Source = Annotated[
    str | None,
    typer.Argument(metavar="SOURCE", help="An OpenAPI document (file or URL) or a manifest."),
]
_Directory = Annotated[
    Path | None,
    typer.Argument(metavar="DIR", help="The folder to create. By default, NAME-mcp."),
]
_Empty = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Create a server without a document, with hand-written handlers. DIR may follow.",
    ),
]
_Name = Annotated[
    str, typer.Option(help="The name of the server. By default, derived from the title of the API.")
]
_Defaults = Annotated[bool, typer.Option("--defaults", help="Use the defaults instead of asking.")]
_Data = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="An answer for the template of the project; repeatable."
    ),
]
_Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        help="Serve only operations whose tag, path or operationId matches; repeatable.",
    ),
]
_Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Leave out operations that match; repeatable."),
]
_NoModels = Annotated[
    bool,
    typer.Option("--no-models", help="Generate no TypedDicts, which is faster for huge documents."),
]
_VendorRuntime = Annotated[
    bool,
    typer.Option(
        "--vendor-runtime",
        help="Copy the wheel of mcpgen to vendor/, so that installation needs no registry for it.",
    ),
]
_ConfirmOrigin = Annotated[
    list[str] | None,
    typer.Option(
        "--confirm-origin",
        metavar="URL",
        help="Also send credentials to this origin, such as that of a token URL; repeatable.",
    ),
]
_Strict = Annotated[bool, typer.Option("--strict", help="Fail if an operation cannot be served.")]


def new(
    printer: Printer,
    source: _Source = None,
    directory: _Directory = None,
    *,
    empty: _Empty = "",
    name: _Name = "",
    defaults: _Defaults = False,
    data: _Data = None,
    include: _Include = None,
    exclude: _Exclude = None,
    no_models: _NoModels = False,
    vendor_runtime: _VendorRuntime = False,
    strict: _Strict = False,
    confirm_origin: _ConfirmOrigin = None,
) -> int:
    """Create a server package from an API description, or an empty one."""
    from mcpgen.cli import questions
    from mcpgen.factory.workspace.members import default_answers

    answers = dict(questions.parse_answer(pair) for pair in data or ())
    if vendor_runtime:
        answers["vendor_runtime"] = "yes"
    place = Path(source) if empty and source else directory
    answers = default_answers(place or Path("new")) | answers
    if empty:
        of_documents = include or exclude or no_models or strict or confirm_origin
        if directory is not None or name or of_documents:
            raise UsageError(
                "--empty makes a server without a document, so no option for documents applies",
                help=f"`mcpgen new --empty {empty} DIR`; --data and --vendor-runtime apply",
            )
        return _new_by_hand(printer, empty, Path(source) if source else None, answers)
    if printer.asks and not defaults:
        source, directory, name, answers = questions.ask(source, directory, name, answers)
    if source is None:
        raise UsageError(
            "SOURCE is missing, and there is nobody to ask",
            help="`mcpgen new openapi.yaml`, with the path or the URL of your API description",
        )

    options = Options(
        name=name,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        models=not no_models,
        strict=strict,
        confirmed_origins=tuple(confirm_origin or ()),
        answers=answers,
    )
    return _new_from(printer, source, directory, options, asks=printer.asks and not defaults)


def _new_from(
    printer: Printer, source: str, directory: Path | None, options: Options, *, asks: bool
) -> int:
    from mcpgen.cli.output.summary import summarize
    from mcpgen.cli.questions import confirm_origin, decide_credential
    from mcpgen.pipeline.commands.new import new as new_package

    def decide(credential: HiddenCredential) -> HiddenCredential:
        with printer.pause_progress():
            return decide_credential(credential)

    def confirm(destination: CredentialDestination) -> bool:
        with printer.pause_progress():
            return confirm_origin(destination)

    asked = (decide, confirm) if asks else (None, None)
    with printer.progress() as progress:
        report = new_package(source, directory, options, progress, *asked)
    printer.problems(report.problems)
    if report.outcome is Outcome.DONE and report.plan is not None:
        summarize(printer, report.plan, report.target)
    return printer.finish(report.outcome)


def _new_by_hand(
    printer: Printer, name: str, directory: Path | None, answers: dict[str, str]
) -> int:
    from mcpgen.cli.output.summary import summarize_by_hand
    from mcpgen.pipeline.commands.new import new_by_hand

    with printer.progress() as progress:
        report = new_by_hand(name, directory, answers, progress)
    printer.problems(report.problems)
    if report.outcome is Outcome.DONE and report.plan is not None:
        summarize_by_hand(printer, report.plan, report.target)
    return printer.finish(report.outcome)
