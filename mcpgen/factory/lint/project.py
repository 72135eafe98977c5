"""Lint of a generated package: its settings, its pins, and the evidence of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Diagnostic, Problems, Severity
from mcpgen.factory.lint.findings import RULES
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.lint.pins import PINS_FILE, ServerPins, list_foreign_tools, read_pins
from mcpgen.factory.lint.report import apply_waivers, collect_evidence
from mcpgen.factory.lint.run import Report, lint
from mcpgen.factory.lint.settings import Settings
from mcpgen.factory.lint.started import list_started_package
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.waivers import check_waivers, current_date, read_waivers
from mcpgen.ir.waivers import Waiver
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER, LINT, record_evidence


class LintRun(Struct, frozen=True):
    """The result of a run, and the problems of the waivers themselves."""

    report: Report
    of_waivers: tuple[Diagnostic, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether there is a finding that counts, or an expired waiver."""
        expired = any(each.severity is Severity.ERROR for each in self.of_waivers)
        return self.report.has_findings or expired


def lint_package(
    package: GeneratedPackage, settings: Settings, problems: Problems, *, is_started: bool
) -> LintRun:
    """Check the tools of a package against its pins, and record the evidence.

    `is_started` lists the tools of the running server, not those of the files.

    Raises:
        UnlistedError: the server does not list its tools.
        RejectedError: its waivers are invalid, as reported to `problems`.
        PinsUnreadableError, OSError: the pins cannot be read.
    """
    known = read_pins(find_pins_file(package))
    listing = list_started_package(package) if is_started else load_package(package)
    run = lint_listing(listing, settings, known, read_waivers(package.directory, problems))
    record_lint(package, run.report, settings, problems)
    return run


def lint_listing(
    listing: Listing,
    settings: Settings,
    known: Mapping[str, ServerPins],
    waivers: Sequence[Waiver] = (),
    *,
    accepts: bool = False,
    beside: Sequence[Listing] = (),
    today: date | None = None,
) -> LintRun:
    """Check a listing against `known` pins, by server, and mark findings that are waived `today`.

    `accepts` skips the comparison with its own pins. `beside` are servers that are used with it.
    """
    foreign: dict[str, Collection[str]] = dict(list_foreign_tools(known, listing))
    for other in beside:
        foreign[other.server] = [str(tool.get("name", "")) for tool in other.all_tools]
    pins = None if accepts else known.get(listing.server)
    today = today or current_date()
    found = lint(listing, settings, pins=pins, foreign=foreign)
    report = apply_waivers(found, waivers, today)
    subjects = [(each.rule, each.tool) for each in report.findings]
    return LintRun(report, tuple(check_waivers(waivers, subjects, RULES, today)))


def record_lint(
    package: GeneratedPackage, report: Report, settings: Settings, problems: Problems
) -> None:
    """Record the result of a run as evidence of a package."""
    record_evidence(package.directory, LINT, collect_evidence(report, settings), problems)


def find_pins_file(package: GeneratedPackage) -> Path:
    """Return the place of the pins of a package, which may not exist."""
    return package.directory / EVIDENCE_FOLDER / PINS_FILE
