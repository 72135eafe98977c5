"""`mcpgen lint`: what clients and models do with the tools of any server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import (
    Diff,
    DryRun,
    Env,
    Header,
    LintTargets,
    Server,
    StartToLint,
    TokenFrom,
    TokensBudget,
)
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.cli.targets import find_target
from mcpgen.cli.waivers import load_waivers
from mcpgen.diagnostics import Diagnostic, Problems, RejectedError
from mcpgen.pipeline.options import Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.lint.listing import Listing
    from mcpgen.factory.lint.pins import ServerPins
    from mcpgen.factory.lint.run import Report
    from mcpgen.factory.lint.settings import Settings
    from mcpgen.factory.packages import GeneratedPackage

_PINS = "Definitions that were reviewed"
_FIX = "Repair"


def lint(
    printer: Printer,
    target: Server = None,
    *,
    targets: LintTargets = None,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Show what each client does with each tool.")
    ] = False,
    tokens_budget: TokensBudget = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0.")] = None,
    start: StartToLint = False,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET", help="Another server that is used with this one; repeatable."
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Write entries that repair findings to mcpgen.yaml.", rich_help_panel=_FIX
        ),
    ] = False,
    dry_run: DryRun = False,
    diff: Diff = False,
    pins: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare with the pinned definitions. By default, `.mcpgen/evidence/pins.json` of"
            " a project, if it exists.",
            rich_help_panel=_PINS,
        ),
    ] = None,
    pin: Annotated[
        bool,
        typer.Option("--pin", help="Accept the definitions as they are.", rich_help_panel=_PINS),
    ] = False,
    header: Header = None,
    env: Env = None,
    token_from: TokenFrom = "",
) -> int:
    """Check the tools of a server: names, descriptions, schemas, limits of clients, token cost.

    The server is the folder of a package, whose files are read, or a JSON file with a list of
    tools, a URL, or a command.
    """
    from mcpgen.factory.lint.project import lint_listing, record_lint
    from mcpgen.factory.lint.started import UnlistedError

    words = target or []
    source = _Source(words, header=header, env=env, token_from=token_from, is_started=start)
    package = source.package
    if (fix or dry_run or diff) and package is None:
        raise UsageError("--fix, --dry-run and --diff need the folder of a server that mcpgen made")
    if pin and pins is None and package is None:
        raise UsageError("--pin needs a file: --pins FILE")
    settings = choose_settings(package, targets or [], tokens_budget)
    pins_file = _choose_pins_file(package, pins)
    waivers = load_waivers(package)
    try:
        with printer.progress() as progress:
            progress("listing the tools")
            listing = source.load()
            others = [_Source([word]).load() for word in beside or []]
    except UnlistedError as error:
        printer.error(error.word, str(error), help=error.help)
        return printer.finish(Outcome.FINDINGS, error.word)
    known = _read_pins(pins_file)
    run = lint_listing(listing, settings, known, waivers, accepts=pin, beside=others)
    report = run.report
    if pin and pins_file is not None:
        _write_pins(printer, pins_file, known, listing)
    _show(printer, report, with_matrix=matrix)
    printer.problems(run.of_waivers)
    if sarif is not None:
        _write_sarif(sarif, report, run.of_waivers)
    if package is not None and not (dry_run or diff):
        problems = Problems()
        record_lint(package, report, settings, problems)
        printer.problems(problems)
    outcome = Outcome.FINDINGS if run.has_failed else Outcome.DONE
    if package is not None and (fix or dry_run or diff):
        return _fix(printer, package, report, outcome, writes=fix and not (dry_run or diff))
    return printer.finish(outcome)


class _Source:
    """The server that the command line names."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        header: Sequence[str] | None = None,
        env: Sequence[str] | None = None,
        token_from: str = "",
        is_started: bool = False,
    ) -> None:
        from mcpgen.factory.wire.targets import Target

        self._file: Path | None = None
        self._target = Target()
        self._is_started = is_started
        if len(words) == 1 and words[0].endswith(".json") and Path(words[0]).is_file():
            self._file = Path(words[0])
        else:
            self._target = find_target(words, header=header, env=env, token_from=token_from)

    @property
    def package(self) -> GeneratedPackage | None:
        """The generated project, if it is one."""
        return self._target.package

    def load(self) -> Listing:
        """Return the listing.

        Raises:
            UnlistedError: the server does not list its tools.
        """
        from mcpgen.factory.lint.load import ListingUnreadableError, load_file, load_package
        from mcpgen.factory.lint.started import list_started_package, list_tools

        if self._file is not None:
            try:
                return load_file(self._file)
            except ListingUnreadableError as error:
                raise UsageError(str(error)) from None
            except OSError as error:
                raise UsageError(f"cannot read {self._file}: {error.strerror}") from None
        if self.package is None:
            return list_tools(self._target)
        if self._is_started:
            return list_started_package(self.package, self._target.environment)
        return load_package(self.package)


def choose_settings(
    package: GeneratedPackage | None, targets: Sequence[str], budget: int | None
) -> Settings:
    """Return the settings of the options, else of the manifest.

    Raises:
        UsageError: a target is unknown.
    """
    from mcpgen.factory.lint import settings

    try:
        return settings.choose_settings(package, targets, budget)
    except settings.UnknownTargetError as error:
        raise UsageError(str(error), help=error.help) from None


def _choose_pins_file(package: GeneratedPackage | None, pins: Path | None) -> Path | None:
    from mcpgen.factory.lint.project import find_pins_file

    return find_pins_file(package) if pins is None and package is not None else pins


def _read_pins(path: Path | None) -> dict[str, ServerPins]:
    from mcpgen.factory.lint.pins import PinsUnreadableError, read_pins

    if path is None:
        return {}
    try:
        return dict(read_pins(path))
    except PinsUnreadableError as error:
        raise UsageError(str(error), help=error.help) from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _write_pins(
    printer: Printer, path: Path, known: dict[str, ServerPins], listing: Listing
) -> None:
    from mcpgen.factory.lint.pins import write_pins

    try:
        write_pins(path, known, listing)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    printer.fact(pinned=len(listing.all_tools))
    printer.result(f"pinned {format_count(len(listing.all_tools), 'tool')} in {path}")


def _show(printer: Printer, report: Report, *, with_matrix: bool) -> None:
    from mcpgen.factory.lint.matrix import format_matrix_text
    from mcpgen.factory.lint.report import collect_facts, group_diagnostics, list_diagnostics

    printer.fact(**collect_facts(report, with_matrix=with_matrix))
    shown = list_diagnostics if printer.as_json else group_diagnostics
    printer.problems(shown(report.findings))
    if with_matrix:
        for line in format_matrix_text(report.matrix):
            printer.result(visible(line))
        printer.result()
    for line in _summarize(report):
        printer.result(line)


def _summarize(report: Report) -> list[str]:
    listing, grade = report.listing, report.grade
    lines = [
        f"{format_count(len(listing.tools), 'listed tool')}, about {listing.token_cost:,} tokens"
    ]
    outputs = sum(cost.output_schema for cost in report.costs)
    if outputs:
        lines[0] += f", of which {outputs:,} are output schemas"
    if listing.unlisted:
        lines.append(f"{format_count(len(listing.unlisted), 'other tool')} can be searched for")
    if grade is not None:
        flagged = sum(bool(each.flags) for each in grade.tools)
        lines.append(
            f"Glama, without its language model: {grade.tier}, at most {grade.overall:.1f} of 5"
            f" ({format_count(flagged, 'tool')} capped by a rule; number of tools rated"
            f" {grade.tool_count} of 5)"
        )
    if not report.findings:
        lines.append("no findings")
    return lines


def _write_sarif(path: Path, report: Report, of_waivers: Sequence[Diagnostic]) -> None:
    from mcpgen.cli.output.sarif import write_sarif
    from mcpgen.factory.lint.findings import RULES
    from mcpgen.factory.lint.report import list_diagnostics

    titles = {rule.id: rule.title for rule in RULES.values()}
    try:
        write_sarif(path, [*list_diagnostics(report.findings), *of_waivers], titles)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _fix(
    printer: Printer, package: GeneratedPackage, report: Report, found: Outcome, *, writes: bool
) -> int:
    """Show the entries that repair findings, and write them."""
    from mcpgen.factory.lint.fix import find_fixes
    from mcpgen.pipeline.commands.edit_manifest import prepare_manifest_edit, write_manifest_edit

    problems = Problems()
    try:
        with printer.progress() as progress:
            fixes = find_fixes(package.directory, report, problems, progress)
    except RejectedError:
        printer.problems(problems)
        return printer.finish(Outcome.REJECTED)
    printer.fact(
        fixes=[{"keys": [*fix.keys], "value": fix.value, "reason": fix.reason} for fix in fixes]
    )
    if not fixes:
        printer.result("nothing that entries of mcpgen.yaml can repair")
        return printer.finish(found)
    edit = prepare_manifest_edit(
        package.directory, {fix.keys: fix.value for fix in fixes}, problems
    )
    outcome = write_manifest_edit(package.directory, edit, problems) if writes else edit.outcome
    printer.problems(problems)
    if outcome is not Outcome.DONE:
        return printer.finish(outcome)
    printer.fact(diff=edit.diff, written=writes)
    for fix in fixes:
        printer.result(f"  {visible(fix.reason)}")
    if not writes:
        printer.raw(f"{edit.diff}\n")
    entries = format_count(len(fixes), "value")
    status = "written to mcpgen.yaml; now run" if writes else "would be written; --fix writes, then"
    printer.result(f"{entries} {status} `mcpgen generate`")
    return printer.finish(found)
