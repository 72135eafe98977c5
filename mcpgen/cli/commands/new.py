"""`mcpgen new`: an API description becomes a server package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import Options, Outcome, Report

if TYPE_CHECKING:
    from mcpgen.cli.output.stages import Stages
    from mcpgen.cli.wizard import Wizard
    from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
    from mcpgen.ir.manifest_entries import CredentialEntry
    from mcpgen.pipeline.survey import Survey

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
_Code = Annotated[
    bool,
    typer.Option(
        "--code",
        help="Code mode: clients get search tools and `run_code`, which calls several tools in one"
        " run of Python in a sandbox. Needs `mcpgen[code]`.",
    ),
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
_BaseUrl = Annotated[
    str, typer.Option(metavar="URL", help="The base URL of the API, instead of the document's.")
]
_Credential = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SCHEME=SOURCE",
        help="Where the credential of a security scheme comes from: environment, user (who logs"
        " in), exchange, or header:NAME of the caller; repeatable.",
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
    code: _Code = False,
    vendor_runtime: _VendorRuntime = False,
    strict: _Strict = False,
    base_url: _BaseUrl = "",
    credential: _Credential = None,
    confirm_origin: _ConfirmOrigin = None,
) -> int:
    """Create a server package from an API description, or an empty one."""
    from mcpgen.cli import questions
    from mcpgen.cli.wizard import Wizard
    from mcpgen.factory.workspace.members import default_answers

    answers = dict(questions.parse_answer(pair) for pair in data or ())
    if vendor_runtime:
        answers["vendor_runtime"] = "yes"
    place = Path(source) if empty and source else directory
    answers = default_answers(place or Path("new")) | answers
    if empty:
        of_api = include or exclude or no_models or strict or code
        of_requests = base_url or credential or confirm_origin
        if directory is not None or name or of_api or of_requests:
            raise UsageError(
                "--empty makes a server without a document, so no option for documents applies",
                help=f"`mcpgen new --empty {empty} DIR`; --data and --vendor-runtime apply",
            )
        return _new_by_hand(printer, empty, Path(source) if source else None, answers)
    wizard = None
    if printer.can_ask and not defaults:
        wizard = Wizard()
        source = source or wizard.ask_source()
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
        code=code,
        strict=strict,
        base_url=_check_base_url(base_url),
        credentials=dict(map(_parse_credential, credential or ())),
        confirmed_origins=tuple(confirm_origin or ()),
        answers=answers,
    )
    try:
        return _new_from(printer, source, directory, options, wizard)
    except KeyboardInterrupt:
        printer.error("aborted", "aborted by Ctrl-C")
        return printer.finish(Outcome.USAGE, "aborted")


def _check_base_url(url: str) -> str:
    if url and not url.startswith(("http://", "https://")):
        raise UsageError(
            f"`--base-url {url}` is not an absolute URL", help="write https://api.example.com/v1"
        )
    return url


def _parse_credential(pair: str) -> tuple[str, CredentialEntry]:
    """Parse "SCHEME=SOURCE", where SOURCE is that of `credentials`, or "header:NAME"."""
    import msgspec

    from mcpgen.contract.http_names import is_caller_header
    from mcpgen.ir.manifest_entries import CredentialEntry

    scheme, _, stated = pair.partition("=")
    source, colon, header = stated.partition(":")
    is_valid = is_caller_header(header) if source == "header" else not colon
    with suppress(msgspec.ValidationError):
        if scheme and is_valid:
            return scheme, msgspec.convert({"from": source, "header": header}, CredentialEntry)
    raise UsageError(
        f"`--credential {pair}` is not SCHEME=SOURCE",
        help="SOURCE is environment, user, exchange or header:NAME",
    )


def _new_from(
    printer: Printer, source: str, directory: Path | None, options: Options, wizard: Wizard | None
) -> int:
    from mcpgen.cli.output.new_summary import summarize
    from mcpgen.pipeline.commands.new import new as new_package

    with printer.stages() as stages:
        prompts = _Asking(printer, stages, wizard, options) if wizard is not None else None
        callbacks = (
            (prompts.decide, prompts.confirm, prompts.choose) if prompts else (None, None, None)
        )
        report = new_package(source, directory, options, stages, *callbacks)
        stages.has_failed = report.outcome is not Outcome.DONE
    printer.problems(report.problems)
    if report.outcome is Outcome.DONE and report.plan is not None:
        summarize(printer, report, report.plan, prompts.repeat(source, report) if prompts else ())
    return printer.finish(report.outcome)


class _Asking:
    """The wizard's questions, for which the progress pauses."""

    def __init__(self, printer: Printer, stages: Stages, wizard: Wizard, options: Options) -> None:
        self._printer = printer
        self._stages = stages
        self._wizard = wizard
        self._options = options

    def decide(self, credential: HiddenCredential) -> HiddenCredential:
        with self._pause():
            return self._wizard.decide(credential)

    def confirm(self, destination: CredentialDestination) -> bool:
        with self._pause():
            return self._wizard.confirm(destination)

    def choose(
        self, survey: Survey, options: Options, target: Path | None
    ) -> tuple[Options, Path | None]:
        with self._pause():
            self._options, target = self._wizard.choose(survey, options, target)
        return self._options, target

    def repeat(self, source: str, report: Report) -> list[str]:
        return self._wizard.repeat(source, report.target, self._options)

    @contextmanager
    def _pause(self) -> Iterator[None]:
        with self._printer.pause_progress(), self._stages.pause_clock():
            yield


def _new_by_hand(
    printer: Printer, name: str, directory: Path | None, answers: dict[str, str]
) -> int:
    from mcpgen.cli.output.new_summary import summarize_by_hand
    from mcpgen.pipeline.commands.new import new_by_hand

    with printer.progress() as progress:
        report = new_by_hand(name, directory, answers, progress)
    printer.problems(report.problems)
    if report.outcome is Outcome.DONE and report.plan is not None:
        summarize_by_hand(printer, report.plan, report.target)
    return printer.finish(report.outcome)
