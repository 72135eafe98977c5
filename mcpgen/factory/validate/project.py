"""Validation of a generated package: the evidence of a run, and whether it passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from mcpgen.diagnostics import Diagnostic, Problems, Severity
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.validate.report import (
    apply_waivers,
    collect_evidence,
    compute_scores,
    iterate_findings,
    list_failed_revisions,
)
from mcpgen.factory.validate.run import Validation, validate
from mcpgen.factory.waivers import check_waivers, current_date, read_waivers
from mcpgen.factory.wire.targets import Target
from mcpgen.ir.waivers import Waiver
from mcpgen.pipeline.project.evidence import VALIDATE, record_evidence

PACKAGE_TRANSPORTS = ("stdio", "http")
"""The transports over which a package is examined by default."""


class ValidationRun(Struct, frozen=True):
    """The result of a run, and the problems of the waivers themselves."""

    validation: Validation
    of_waivers: tuple[Diagnostic, ...] = ()

    def has_passed(self, min_score: int) -> bool:
        """Return whether the scores suffice and no waiver has expired."""
        expired = any(each.severity is Severity.ERROR for each in self.of_waivers)
        return has_passed(self.validation, min_score) and not expired


def validate_package(
    package: GeneratedPackage,
    problems: Problems,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> ValidationRun:
    """Examine a package under all revisions, over its default transports; record the evidence.

    Raises:
        RejectedError: the waivers are invalid, as reported to `problems`.
    """
    waivers = read_waivers(package.directory, problems)
    target = Target(command=package.command, package=package)
    validation = asyncio.run(validate(target, transports=PACKAGE_TRANSPORTS, progress=progress))
    of_waivers = accept_findings(validation, waivers)
    record_validation(package, validation, problems)
    return ValidationRun(validation, tuple(of_waivers))


def record_validation(
    package: GeneratedPackage, validation: Validation, problems: Problems
) -> None:
    """Record the result of an examination of all revisions as evidence of a package."""
    record_evidence(package.directory, VALIDATE, collect_evidence(validation), problems)


def accept_findings(validation: Validation, waivers: Sequence[Waiver]) -> list[Diagnostic]:
    """Mark the findings that are waived today; return the problems of the waivers themselves."""
    if not waivers or validation.trouble_kind:
        return []
    today = current_date()
    apply_waivers(validation, waivers, today)
    rules = {result.requirement.id for result in validation.results}
    subjects = [(it.requirement.id, "") for it in iterate_findings(validation)]
    return list(check_waivers(waivers, subjects, rules, today))


def has_passed(
    validation: Validation, min_score: int = 0, required_revisions: Sequence[str] = ()
) -> bool:
    """Return whether the scores suffice, and every revision in `required_revisions` was examined.

    With a `min_score`, every score has to reach it reliably; else no MUST may be violated, but for
    waived findings.
    """
    scores = compute_scores(validation)
    if not scores or validation.trouble_kind or not scores.keys() >= set(required_revisions):
        return False
    if min_score:
        return all(it.score >= min_score and it.is_reliable for it in scores.values())
    return not list_failed_revisions(validation)
