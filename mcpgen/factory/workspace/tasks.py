"""Tasks of `mcpgen ws` on a single server: generate, pull, compare, check, test."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement

from mcpgen.changelog import Level
from mcpgen.diagnostics import Diagnostic, Location, Problems
from mcpgen.factory.workspace.fleet import ServerResult
from mcpgen.factory.workspace.members import Server
from mcpgen.ir.workspace import VersionPin
from mcpgen.pipeline.commands.changelog import changelog
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.pull import pull, write_pull
from mcpgen.pipeline.options import GenerateOptions, Outcome, worst
from mcpgen.pipeline.project.project_folder import find_lock, read_file

_END_DESCRIPTIONS = {
    Outcome.FINDINGS: "stale",
    Outcome.USAGE: "not possible",
    Outcome.REJECTED: "rejected",
    Outcome.CONFLICT: "edited by hand, or in conflict",
    Outcome.INTERRUPTED: "interrupted, or in another run's hands",
}


class Rules(Struct, frozen=True):
    """What a workspace requires of each server."""

    mcpgen: VersionPin
    runtime: VersionPin | None = None


def generate_server(options: GenerateOptions, server: Server) -> ServerResult:
    """Regenerate a server."""
    report = generate(server.target, options, _ignore)
    changed = len(report.written) + len(report.deleted)
    summary = _describe_end(report.outcome, "already current")
    if report.outcome is Outcome.DONE and changed:
        files = f"{changed} file{'' if changed == 1 else 's'}"
        summary = f"{files} to write" if options.only_shows else f"{files} written"
    return ServerResult(
        server.path,
        report.outcome,
        summary,
        _relocate(report.problems, server),
        facts={"written": list(report.written), "deleted": list(report.deleted)},
        text="\n".join(change.diff for change in report.diffs),
    )


def pull_server(is_dry_run: bool, server: Server) -> ServerResult:
    """Fetch a server's document again from its source."""
    fetched = pull(server.target, None, GenerateOptions(), _ignore)
    if any(problem.code == "no-document" for problem in fetched.problems):
        return ServerResult(server.path, Outcome.DONE, "has no document")
    outcome = fetched.outcome
    if outcome is Outcome.DONE and fetched.files and not is_dry_run:
        outcome = write_pull(fetched)
    level = fetched.changelog.level.word if fetched.changelog else "none"
    summary = f"{fetched.result.value}, tools: {level}" if outcome is Outcome.DONE else "not pulled"
    return ServerResult(
        server.path,
        outcome,
        summary,
        _relocate(fetched.problems, server),
        facts={"written": list(fetched.written), "level": level},
    )


def compare_server(against: str | None, fail_on: Level | None, server: Server) -> ServerResult:
    """Grade the changes in a server's tools."""
    report = changelog(server.target, against, GenerateOptions(), _ignore, fail_on=fail_on)
    if report.changelog is None:
        summary = _describe_end(report.outcome, "")
    else:
        summary = f"{report.changelog.level.word} since {report.since}"
    problems = _relocate(report.problems, server)
    return ServerResult(server.path, report.outcome, summary, problems, changelog=report)


def check_server(rules: Rules, server: Server) -> ServerResult:
    """Check whether a server is current, unedited, and follows the rules of the workspace."""
    report = check(server.target)
    outcome = report.outcome
    if outcome in (Outcome.DONE, Outcome.FINDINGS, Outcome.CONFLICT) and not _is_within_rules(
        rules, server, report.problems
    ):
        outcome = worst([outcome, Outcome.FINDINGS])
    return ServerResult(
        server.path,
        outcome,
        _describe_end(outcome, "current"),
        _relocate(report.problems, server),
        facts={"stale": list(report.stale), "edited": list(report.edited)},
    )


def run_tests(server: Server) -> ServerResult:
    """Run a server's own tests, and store the evidence."""
    # Imported here: the other commands do not need the tests.
    from mcpgen.factory.test.proof import prove
    from mcpgen.factory.test.run import MissingPackagesError

    problems = Problems()
    try:
        result = prove(server.target).suite
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


def _is_within_rules(rules: Rules, server: Server, problems: Problems) -> bool:
    before = len(problems)
    found = find_lock(server.target, Problems())  # the command itself reports its problems
    version = found.lock.mcpgen if found else ""
    if version and not rules.mcpgen.allows(version):
        problems.error(
            "outside-pin",
            f"{server.path} was generated by mcpgen {version}, but the workspace pins"
            f" {rules.mcpgen.text}",
            at=Location("mcpgen.lock"),
            why="one version generates all servers of a workspace, so that they behave alike",
            help="run `mcpgen ws upgrade` with an mcpgen that the pin allows",
        )
    required = _find_requirement(server.target)
    if rules.runtime and required and required.specifier != rules.runtime.versions:
        problems.error(
            "runtime-pin",
            f"{server.path} requires {required}, but the workspace {rules.runtime.text}",
            at=Location("pyproject.toml"),
            why="one environment can contain all servers only if their requirements agree",
            help="correct its pyproject.toml, or `runtime` in mcpgen-workspace.yaml",
        )
    return len(problems) == before


def _find_requirement(target: Path) -> Requirement | None:
    """Return the requirement for mcpgen in a server's `pyproject.toml`, or None."""
    content = read_file(target, "pyproject.toml") or b""
    try:
        dependencies = tomllib.loads(content.decode())["project"]["dependencies"]
        requirements = [Requirement(each) for each in dependencies]
    except (ValueError, KeyError, TypeError, InvalidRequirement):
        return None
    return next((each for each in requirements if each.name == "mcpgen"), None)


def _describe_end(outcome: Outcome, well: str) -> str:
    return well if outcome is Outcome.DONE else _END_DESCRIPTIONS[outcome]


def _relocate(problems: Iterable[Diagnostic], server: Server) -> tuple[Diagnostic, ...]:
    """Return problems with paths relative to the workspace."""
    return tuple(
        replace(problem, at=_relocate_to_root(problem.at, server))
        if problem.at is not None
        else problem
        for problem in problems
    )


def _relocate_to_root(at: Location, server: Server) -> Location:
    file = Path(at.file)
    if not file.is_absolute():
        return replace(at, file=f"{server.path}/{at.file}")
    if file.is_relative_to(server.target):
        inside = file.relative_to(server.target).as_posix()
        return replace(at, file=f"{server.path}/{inside}".removesuffix("/."))
    return at


def _ignore(_: str) -> None:
    """Ignore the progress of one server: the fleet reports which servers are done."""
