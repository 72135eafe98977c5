"""Tasks of `mcpgen ws` on a single server that record evidence: test, lint, validate, bundle."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.factory.bundle.run import BundleOptions, OutError, bundle_package
from mcpgen.factory.lint.pins import PinsUnreadableError
from mcpgen.factory.lint.project import lint_package
from mcpgen.factory.lint.report import collect_evidence as collect_lint_evidence
from mcpgen.factory.lint.report import group_diagnostics
from mcpgen.factory.lint.settings import UnknownTargetError, choose_settings
from mcpgen.factory.lint.started import UnlistedError
from mcpgen.factory.packages import NoPackageError, find_package
from mcpgen.factory.test.proof import prove
from mcpgen.factory.test.run import MissingPackagesError
from mcpgen.factory.validate.project import validate_package
from mcpgen.factory.validate.report import collect_evidence as collect_scores
from mcpgen.factory.validate.report import describe_trouble, format_revisions, list_diagnostics
from mcpgen.factory.workspace.fleet import ServerResult
from mcpgen.factory.workspace.members import Server
from mcpgen.factory.workspace.tasks import relocate
from mcpgen.pipeline.options import Outcome

# Errors of a server that cannot be checked as it is.
_UNUSABLE = (NoPackageError, UnknownTargetError, PinsUnreadableError, OutError)


class LintOptions(Struct, frozen=True, kw_only=True):
    """Options of `ws lint`."""

    targets: tuple[str, ...] = ()  # (): `targets` of each manifest
    budget: int | None = None  # None: `budget` of each manifest
    is_started: bool = False


def run_tests(server: Server) -> ServerResult:
    """Run a server's own tests, and store the evidence."""
    problems = Problems()
    try:
        result = prove(server.target).suite
    except _UNUSABLE as error:
        return _refuse(server, error)
    except MissingPackagesError as error:
        problems.error("missing-package", f"{server.path}: {error}", why=error.why, help=error.help)
        return ServerResult(server.path, Outcome.FINDINGS, "the tests cannot run", tuple(problems))
    if not result.passed:
        problems.error(
            "tests-failed",
            f"the tests of {server.path} failed",
            help=f"run `mcpgen test {server.path}`",
        )
    return ServerResult(
        server.path,
        Outcome.DONE if result.passed else Outcome.FINDINGS,
        result.summary,
        tuple(problems),
        text="" if result.passed else result.output,
    )


def lint_server(options: LintOptions, server: Server) -> ServerResult:
    """Check a server's tools, and store the evidence."""
    problems = Problems()
    try:
        package = find_package(server.target)
        settings = choose_settings(package, options.targets, options.budget)
        run = lint_package(package, settings, problems, is_started=options.is_started)
    except _UNUSABLE as error:
        return _refuse(server, error)
    except RejectedError:
        return _reject(server, problems)
    except UnlistedError as error:
        problems.error(error.word, str(error), help=error.help)
        return ServerResult(
            server.path, Outcome.FINDINGS, "not checked", relocate(problems, server)
        )
    evidence = collect_lint_evidence(run.report, settings)
    found = group_diagnostics(run.report.findings)
    return ServerResult(
        server.path,
        Outcome.FINDINGS if run.has_failed else Outcome.DONE,
        evidence["result"],
        relocate([*found, *run.of_waivers, *problems], server),
        facts={"counts": evidence["counts"], "token_cost": evidence["token_cost"]},
    )


def validate_server(min_score: int, server: Server) -> ServerResult:
    """Examine a server under each revision that it supports, and store the evidence."""
    problems = Problems()
    try:
        run = validate_package(find_package(server.target), problems)
    except _UNUSABLE as error:
        return _refuse(server, error)
    except RejectedError:
        return _reject(server, problems)
    found = list_diagnostics(run.validation)
    if run.validation.trouble_kind:
        found = [describe_trouble(run.validation)]
    return ServerResult(
        server.path,
        Outcome.DONE if run.has_passed(min_score) else Outcome.FINDINGS,
        collect_scores(run.validation)["result"],
        relocate([*found, *run.of_waivers, *problems], server),
        facts={"revisions": format_revisions(run.validation)},
    )


def bundle_server(options: BundleOptions, out: Path | None, server: Server) -> ServerResult:
    """Build a server's bundles in its `dist`, or below `out` in a folder of its path."""
    problems = Problems()
    place = server.target / "dist" if out is None else out / server.path
    try:
        run = bundle_package(find_package(server.target), place, options, problems)
    except _UNUSABLE as error:
        return _refuse(server, error)
    done = "to write" if options.is_dry_run else "written"
    count = len(run.bundles)
    summary = f"{count} bundle{'' if count == 1 else 's'} {done}"
    return ServerResult(
        server.path,
        run.outcome,
        summary if run.outcome is Outcome.DONE else "not bundled",
        relocate(problems, server),
        facts={"out": place.as_posix(), **run.collect_facts()},
    )


def _refuse(server: Server, error: Exception) -> ServerResult:
    """Return the result for a server that cannot be checked as it is."""
    problems = Problems()
    problems.error("usage", str(error), help=getattr(error, "help", ""))
    return ServerResult(server.path, Outcome.USAGE, "not possible", relocate(problems, server))


def _reject(server: Server, problems: Problems) -> ServerResult:
    """Return the result for a server with an invalid file."""
    return ServerResult(server.path, Outcome.REJECTED, "rejected", relocate(problems, server))
