"""One review: the changes, problems and unknowns of a server since a revision."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.changelog import RULES as CHANGES
from mcpgen.changelog import Level
from mcpgen.diagnostics import Diagnostic, Location, Problems, RejectedError, Severity
from mcpgen.factory.lint import run as lint_run
from mcpgen.factory.lint.findings import RULES as LINT_RULES
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.lint.pins import PinsUnreadableError, read_pins
from mcpgen.factory.lint.project import find_pins_file, lint_listing
from mcpgen.factory.lint.report import group_diagnostics
from mcpgen.factory.lint.settings import UnknownTargetError, choose_settings
from mcpgen.factory.packages import GeneratedPackage, find_package
from mcpgen.factory.review.claims import Proven, examine_evidence
from mcpgen.factory.review.figures import collect_earlier_figures, collect_figures
from mcpgen.factory.review.model import (
    Claim,
    Figures,
    Part,
    Review,
    ReviewedChange,
    ReviewedWaiver,
    ReviewFinding,
    sort_findings,
)
from mcpgen.factory.status.subject import Subject
from mcpgen.factory.validate.requirements import read_requirements
from mcpgen.factory.waivers import Subject as Finding
from mcpgen.factory.waivers import (
    check_waivers,
    find_waiver,
    list_states,
    parse_waivers,
    read_waivers,
)
from mcpgen.ir.waivers import WAIVERS_FILE, Waiver
from mcpgen.pipeline.commands.changelog import ChangelogReport, compare_with
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.options import CheckReport, GenerateOptions, Outcome, Progress, StoppedError
from mcpgen.pipeline.project.disk import report_stop
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER, TESTS, VALIDATE
from mcpgen.pipeline.project.history import EarlierProject, find_base, read_earlier_project
from mcpgen.pipeline.project.surfaces import find_earlier_surface

_STOPPED = (Outcome.USAGE, Outcome.REJECTED, Outcome.INTERRUPTED)


class ReviewOptions(Struct, frozen=True, kw_only=True):
    """The revision to compare with, the failing level, and the day on which waivers are judged."""

    today: date
    against: str | None = None  # a git revision; None: HEAD, or the last `generate`
    fail_on: Level | None = None
    commit: str = ""  # of `against`, if it is known


class ReviewReport(Struct, frozen=True):
    """The result of reviewing one server. Without a `review`, `problems` states the reason."""

    problems: Problems
    outcome: Outcome
    review: Review | None = None


class _Material(Struct, frozen=True, kw_only=True):
    """The data that a review is made from."""

    target: Path
    options: ReviewOptions
    waivers: tuple[Waiver, ...]
    earlier: EarlierProject | None
    changes: ChangelogReport
    state: CheckReport
    lint: lint_run.Report
    proven: Proven


def review(target: Path, shown_as: str, options: ReviewOptions, progress: Progress) -> ReviewReport:
    """Review the server at `target`, which is not started; nothing is written.

    `shown_as` is the folder in the commands that the review names; "" for the current one.

    Raises:
        NoPackageError: there is no server.
    """
    package = find_package(target)
    problems = Problems()
    try:
        material = _collect(package, shown_as, options, problems, progress)
    except (StoppedError, RejectedError, OSError) as error:
        return ReviewReport(problems, report_stop(error, target, problems))
    made = _assemble(material, shown_as or package.name)
    return ReviewReport(problems, made.outcome, made)


def _collect(
    package: GeneratedPackage,
    shown_as: str,
    options: ReviewOptions,
    problems: Problems,
    progress: Progress,
) -> _Material:
    """Read and examine everything.

    Raises:
        RejectedError: `waivers.yaml` or another file is invalid; `problems` has the reasons.
        StoppedError: something else stops the review.
        OSError: a file cannot be read.
    """
    target = package.directory
    moment = datetime.combine(options.today, time(), UTC)
    subject = Subject(target, shown_as or ".", moment)
    waivers = read_waivers(target, problems)
    progress("comparing with the revision")
    earlier = None
    commit = options.commit or find_base(target, options.against, problems)
    if commit:
        earlier = read_earlier_project(target, options.against or "HEAD", commit, problems)
    changes = _compare(target, earlier, problems, progress)
    progress("checking the files")
    state = check(target, ignore_toolchain=True, loads_handlers=False)
    if state.outcome in _STOPPED:
        problems.extend(state.problems)
        raise StoppedError(state.outcome)
    progress("linting")
    return _Material(
        target=target,
        options=options,
        waivers=waivers,
        earlier=earlier,
        changes=changes,
        state=state,
        lint=_lint(package, waivers, options, problems),
        proven=examine_evidence(subject),
    )


def _compare(
    target: Path, earlier: EarlierProject | None, problems: Problems, progress: Progress
) -> ChangelogReport:
    """Compare the tools with those of the revision, or those that `generate` wrote last."""
    if earlier is None:
        find_earlier = partial(find_earlier_surface, target, None, problems)
    else:
        find_earlier = partial(earlier.read_surface, problems)
    found = compare_with(find_earlier, target, problems, GenerateOptions(), progress)
    if found.changelog is None:
        raise StoppedError(found.outcome)
    return found


def _lint(
    package: GeneratedPackage,
    waivers: tuple[Waiver, ...],
    options: ReviewOptions,
    problems: Problems,
) -> lint_run.Report:
    """Lint the files of a project, for the targets of its manifest."""
    try:
        return lint_listing(
            load_package(package),
            choose_settings(package),
            read_pins(find_pins_file(package)),
            waivers,
            today=options.today,
        ).report
    except (UnknownTargetError, PinsUnreadableError) as error:
        problems.error("usage", str(error), help=getattr(error, "help", ""))
        raise StoppedError(Outcome.USAGE) from None


def _assemble(material: _Material, server: str) -> Review:
    changes, earlier, listing = material.changes, material.earlier, material.lint.listing
    now = collect_figures(material.proven.tests, material.proven.validate)
    violated = {rule for rules in _list_violated(material.proven).values() for rule in rules}
    reviewed = tuple(_list_changes(material))
    subjects: list[Finding] = [
        *((it.rule, it.tool) for it in material.lint.findings),
        *((rule, "") for rule in sorted(violated)),
        *((it.change.rule, it.change.tool) for it in reviewed),
    ]
    findings = [
        *_list_file_findings(material.state),
        *_list_failed_tests(material.proven),
        *_list_violations(material, violated),
        *(
            ReviewFinding(Part.LINT, it, it.severity is not Severity.NOTE and it.waived is None)
            for it in group_diagnostics(material.lint.findings)
        ),
        *_list_waiver_findings(material, subjects),
    ]
    claims = list(material.proven.claims)
    if listing.has_unknown_tools:
        reason = "not compared: hand-written tools are known only to the running server"
        claims.append(Claim("tools of `handlers/`", reason, "mcpgen lint --start"))
    return Review(
        server=server,
        target=material.target,
        since=changes.since,
        commit=earlier.commit if earlier else "",
        is_new=earlier is not None and not earlier.exists,
        version=changes.version,
        suggested_version=changes.suggested_version,
        before=collect_earlier_figures(earlier) if earlier else Figures(),
        now=replace(now, tools=len(listing.tools), tokens=listing.token_cost),
        changes=reviewed,
        findings=sort_findings(findings),
        claims=tuple(claims),
        waivers=_list_waivers(material, subjects),
        is_edited=material.state.outcome is Outcome.CONFLICT,
    )


def _list_waivers(material: _Material, subjects: list[Finding]) -> tuple[ReviewedWaiver, ...]:
    """Return the waivers, those first that the revision does not have, or has otherwise."""
    before: tuple[Waiver, ...] = ()
    if material.earlier is not None and WAIVERS_FILE in material.earlier.files:
        with contextlib.suppress(RejectedError):
            before = parse_waivers(material.earlier.files[WAIVERS_FILE], Problems())
    known = {replace(waiver, at=None) for waiver in before}
    states = list_states(material.waivers, subjects, material.options.today)
    reviewed = [
        ReviewedWaiver(state, material.earlier is not None and replace(it, at=None) not in known)
        for it, state in zip(material.waivers, states, strict=True)
    ]
    return tuple(sorted(reviewed, key=lambda it: not it.is_new))


def _list_changes(material: _Material) -> Iterator[ReviewedChange]:
    options, found = material.options, material.changes.changelog
    for change in found.changes if found else ():
        waived = find_waiver(material.waivers, (change.rule, change.tool), options.today)
        is_over = options.fail_on is not None and change.level >= options.fail_on
        yield ReviewedChange(change, is_over and waived is None, waived)


def _list_file_findings(state: CheckReport) -> Iterator[ReviewFinding]:
    has_failed = state.outcome is not Outcome.DONE
    for problem in state.problems:
        if problem.code == "proven-with-other-runtime":  # is a claim
            continue
        fails = has_failed and problem.severity is not Severity.NOTE
        yield ReviewFinding(Part.FILES, problem, fails)


def _list_failed_tests(proven: Proven) -> Iterator[ReviewFinding]:
    if proven.tests is not None and proven.tests.outcome != "passed":
        problem = Diagnostic(
            "tests-failed",
            Severity.ERROR,
            f"the tests failed: {proven.tests.result}",
            Location(f"{EVIDENCE_FOLDER}/{TESTS}.json"),
            "the server does not do what its cases expect",
            "run `mcpgen test`",
        )
        yield ReviewFinding(Part.TESTS, problem, fails=True)


def _list_violated(proven: Proven) -> dict[str, tuple[str, ...]]:
    """Return the violated requirements of each revision, by the evidence that holds."""
    revisions = proven.validate.revisions if proven.validate else {}
    return {name: it.findings for name, it in revisions.items()}


def _list_violations(material: _Material, violated: set[str]) -> Iterator[ReviewFinding]:
    """Yield the violated requirements; one of MUST fails, as in `mcpgen validate`."""
    revisions = _list_violated(material.proven)
    for requirement in read_requirements().requirement:
        if requirement.id not in violated:
            continue
        within = [name for name, rules in revisions.items() if requirement.id in rules]
        waived = find_waiver(material.waivers, (requirement.id, ""), material.options.today)
        is_must = requirement.level == "must"
        problem = Diagnostic(
            requirement.id,
            Severity.ERROR if is_must else Severity.WARNING,
            f"violated: {requirement.requirement} ({', '.join(sorted(within))})",
            Location(f"{EVIDENCE_FOLDER}/{VALIDATE}.json"),
            requirement.why,
            requirement.help,
            waived=waived,
        )
        yield ReviewFinding(Part.VALIDATION, problem, is_must and waived is None)


def _list_waiver_findings(material: _Material, subjects: list[Finding]) -> Iterator[ReviewFinding]:
    """Yield expired waivers, and those without a finding among the rules that were checked."""
    today = material.options.today
    expired = [it for it in material.waivers if it.is_expired(today)]
    others = [it for it in material.waivers if not it.is_expired(today)]
    checked = {*LINT_RULES, *CHANGES}
    if material.proven.validate is not None:
        checked |= {it.id for it in read_requirements().requirement}
    for waivers, rules in ((expired, {it.rule for it in expired}), (others, checked)):
        for problem in check_waivers(waivers, subjects, rules, today):
            fails = problem.severity is Severity.ERROR
            yield ReviewFinding(Part.WAIVERS, problem, fails)
