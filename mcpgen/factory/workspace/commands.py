"""Functions behind the `mcpgen ws` commands: select servers, run a task on each, sum up results."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.changelog import Level
from mcpgen.diagnostics import Problems, Severity
from mcpgen.factory.packages import WorkspaceRefusedError
from mcpgen.factory.workspace import root_files, tasks
from mcpgen.factory.workspace.fleet import ServerResult, Task, run_fleet
from mcpgen.factory.workspace.members import Server, Workspace, open_workspace
from mcpgen.factory.workspace.processes import usable_cores
from mcpgen.factory.workspace.shards import Shard
from mcpgen.factory.workspace.stamps import Stamps, list_installed
from mcpgen.ir.workspace import INVENTORY_COLUMNS
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress, worst
from mcpgen.pipeline.project.evidence import LINT, TESTS, VALIDATE, has_current_evidence

if TYPE_CHECKING:
    from mcpgen.factory.bundle.run import BundleOptions
    from mcpgen.factory.workspace.checks import LintOptions
    from mcpgen.factory.workspace.merge_evidence import MergeReport


class Request(Struct, frozen=True):
    """The servers of a command, and how many are processed at a time."""

    here: Path
    names: Sequence[str] = ()  # empty: all of them
    only_affected: bool = False  # those that changed after a clean run
    jobs: int | None = None  # None: one per core, if a server is enough work
    shard: Shard | None = None  # the part of these servers that this machine processes

    def choose(self, workspace: Workspace) -> tuple[Server, ...]:
        """Return the named servers of the shard.

        The shards split the named servers, since every machine has the same names. Which servers
        changed is a matter of each machine's cache, so `only_affected` is applied afterwards.

        Raises:
            WorkspaceRefusedError: a name matches no server, or several.
        """
        servers = workspace.select(self.names, self.here)
        return servers if self.shard is None else self.shard.select(servers)

    @property
    def covers_root(self) -> bool:
        """Whether this machine checks the files at the root; of several shards, the first does."""
        return self.shard is None or self.shard.index == 1


class WorkspaceReport(Struct, frozen=True):
    """The results of servers, sorted by path, and the files at the root."""

    root: Path
    outcome: Outcome  # the worst of all
    servers: tuple[ServerResult, ...]
    unaffected: int = 0
    problems: Problems = field(default_factory=Problems)  # of the workspace itself
    root_files: Mapping[str, str] = field(default_factory=dict)  # path -> "written", "to write"


def list_servers(request: Request) -> tuple[Workspace, list[dict[str, str]]]:
    """Return the workspace, and one row per selected server."""
    workspace = open_workspace(request.here)
    servers, _ = _select_unchecked(workspace, request)
    return workspace, root_files.inventory(servers, INVENTORY_COLUMNS)


def generate(request: Request, progress: Progress, options: GenerateOptions) -> WorkspaceReport:
    """Regenerate servers and the blocks of the files at the root."""
    workspace = open_workspace(request.here)
    _refuse_other_version(workspace)
    task = partial(tasks.generate_server, options)
    results, unaffected = _run(workspace, request, "generate", task, progress)
    return _with_root_files(workspace, request, results, unaffected, options)


def check(request: Request, progress: Progress) -> WorkspaceReport:
    """Check whether servers and the files at the root are current; write nothing."""
    workspace = open_workspace(request.here)
    _refuse_other_version(workspace)
    rules = _rules_of(workspace)
    task = partial(tasks.check_server, rules)
    # A check takes milliseconds, less than the start of a process.
    request = replace(request, jobs=request.jobs or 1)
    results, unaffected = _run(workspace, request, "check", task, progress, rules=repr(rules))
    problems = Problems()
    if request.covers_root:
        root_files.stale_files(workspace, problems)
    return WorkspaceReport(
        workspace.root,
        worst([_worst(results), Outcome.FINDINGS if len(problems) else Outcome.DONE]),
        results,
        unaffected,
        problems,
    )


def pull(request: Request, progress: Progress, *, is_dry_run: bool) -> WorkspaceReport:
    """Fetch the documents of servers again from their sources."""
    workspace = open_workspace(request.here)
    _refuse_other_version(workspace)
    task = partial(tasks.pull_server, is_dry_run)
    servers, unaffected = _select_unchecked(workspace, request)
    results = run_fleet(task, servers, request.jobs or usable_cores(), progress)
    return WorkspaceReport(workspace.root, _worst(results), results, unaffected)


def changelog(
    request: Request, progress: Progress, against: str | None, *, fail_on: Level | None = None
) -> WorkspaceReport:
    """Grade the changes in the tools of servers, as `pipeline.changelog` does for one."""
    workspace = open_workspace(request.here)
    task = partial(tasks.compare_server, against, fail_on)
    servers, unaffected = _select_unchecked(workspace, request)
    results = run_fleet(task, servers, request.jobs or usable_cores(), progress)
    return WorkspaceReport(workspace.root, _worst(results), results, unaffected)


def test(request: Request, progress: Progress) -> WorkspaceReport:
    """Run the tests of servers."""
    # Imported here, and below: the other commands do not need the checks, which import much.
    from mcpgen.factory.workspace import checks

    rules = list_installed() if request.only_affected else ""
    return _run_check(request, TESTS, checks.run_tests, progress, rules=rules)


def lint(request: Request, progress: Progress, options: LintOptions) -> WorkspaceReport:
    """Check the tools of servers."""
    from mcpgen.factory.workspace import checks

    task = partial(checks.lint_server, options)
    return _run_check(request, LINT, task, progress, rules=repr(options))


def validate(request: Request, progress: Progress, *, min_score: int) -> WorkspaceReport:
    """Examine servers under each revision of MCP that they support."""
    from mcpgen.factory.workspace import checks

    rules = f"{min_score} {list_installed()}" if request.only_affected else ""
    task = partial(checks.validate_server, min_score)
    return _run_check(request, VALIDATE, task, progress, rules=rules)


def bundle(
    request: Request, progress: Progress, options: BundleOptions, out: Path | None
) -> WorkspaceReport:
    """Build the bundles of servers."""
    from mcpgen.factory.workspace import checks

    workspace = open_workspace(request.here)
    place = None if out is None else (request.here / out).resolve()
    task = partial(checks.bundle_server, options, place)
    results, unaffected = _run(workspace, request, "bundle", task, progress)
    return WorkspaceReport(workspace.root, _worst(results), results, unaffected)


def _run_check(
    request: Request, check: str, task: Task, progress: Progress, *, rules: str = ""
) -> WorkspaceReport:
    """Run a task that records evidence of `check`."""
    workspace = open_workspace(request.here)
    results, unaffected = _run(
        workspace, request, check, task, progress, rules=rules, evidence=check
    )
    return WorkspaceReport(workspace.root, _worst(results), results, unaffected)


def merge_evidence(here: Path, folders: Sequence[Path], *, is_dry_run: bool) -> MergeReport:
    """Combine the evidence of the workspace with that in folders."""
    from mcpgen.factory.workspace.merge_evidence import merge_evidence

    workspace = open_workspace(here)
    _refuse_other_version(workspace)
    places = {folder.as_posix(): (here / folder).resolve() for folder in folders}
    return merge_evidence(workspace, places, is_dry_run=is_dry_run)


def upgrade(
    request: Request, progress: Progress, to: str, options: GenerateOptions
) -> WorkspaceReport:
    """Regenerate servers with the running mcpgen; `to` is the new pin, "" keeps the old one."""
    workspace = open_workspace(request.here)
    workspace = root_files.change_pin(workspace, to) if to else workspace
    _refuse_other_version(workspace)
    if to and not options.only_shows:
        root_files.write_pin(workspace)
    task = partial(tasks.generate_server, options)
    results, unaffected = _run(workspace, request, "upgrade", task, progress)
    return _with_root_files(workspace, request, results, unaffected, options)


def _run(
    workspace: Workspace,
    request: Request,
    command: str,
    task: Task,
    progress: Progress,
    *,
    rules: str = "",
    evidence: str = "",
) -> tuple[tuple[ServerResult, ...], int]:
    """Return the results, and the number of servers that did not change.

    A server without current `evidence` of that check counts as changed.
    """
    servers = request.choose(workspace)
    jobs = request.jobs or usable_cores()
    if not request.only_affected:
        return run_fleet(task, servers, jobs, progress), 0
    stamps = Stamps(command, rules)
    before = {server.path: stamps.stamp(server.target) for server in servers}
    affected = [
        server
        for server in servers
        if not stamps.has_stamp(before[server.path])
        or (evidence and not has_current_evidence(server.target, evidence))
    ]
    results = run_fleet(task, affected, jobs, progress)
    for server, result in zip(affected, results, strict=True):
        if _is_clean(result, allows_notes=bool(evidence)):
            after = stamps.stamp(server.target)
            # A read-only command did not see files that changed while it ran.
            if command == "generate" or after == before[server.path]:
                stamps.note(after)
    return results, len(servers) - len(affected)


def _is_clean(result: ServerResult, *, allows_notes: bool) -> bool:
    """Return whether a run had no problems.

    Notes of a check are hints. Notes of other commands can state what was not done.
    """
    shown = [it for it in result.problems if not (allows_notes and it.severity is Severity.NOTE)]
    return result.outcome is Outcome.DONE and not shown


def _select_unchecked(workspace: Workspace, request: Request) -> tuple[Sequence[Server], int]:
    """Return the selected servers, and the number that a clean `check` omits."""
    servers = request.choose(workspace)
    if not request.only_affected:
        return servers, 0
    stamps = Stamps("check", repr(_rules_of(workspace)))
    affected = [each for each in servers if not stamps.has_stamp(stamps.stamp(each.target))]
    return affected, len(servers) - len(affected)


def _with_root_files(
    workspace: Workspace,
    request: Request,
    results: tuple[ServerResult, ...],
    unaffected: int,
    options: GenerateOptions,
) -> WorkspaceReport:
    """Return the report of a run that generated servers, after updating the files at the root.

    A shard leaves them as they are: they describe all servers, of which the others are not yet
    generated here.
    """
    problems = Problems()
    if request.shard is not None:
        return WorkspaceReport(workspace.root, _worst(results), results, unaffected)
    if options.only_shows:
        changed = root_files.stale_files(workspace, Problems())
    else:
        changed = root_files.write_files(workspace, problems)
    found = Outcome.FINDINGS if problems.has_errors else Outcome.DONE
    outcome = worst([_worst(results), found])
    done = dict.fromkeys(changed, "to write" if options.only_shows else "written")
    return WorkspaceReport(workspace.root, outcome, results, unaffected, problems, done)


def _rules_of(workspace: Workspace) -> tasks.Rules:
    return tasks.Rules(workspace.settings.mcpgen, workspace.settings.runtime)


def _worst(results: Sequence[ServerResult]) -> Outcome:
    return worst(result.outcome for result in results)


def _refuse_other_version(workspace: Workspace) -> None:
    """Check that the workspace's pin allows the running mcpgen."""
    version = importlib.metadata.version("mcpgen")
    pin = workspace.settings.mcpgen
    if not pin.allows(version):
        raise WorkspaceRefusedError.because(
            "outside-pin",
            f"this is mcpgen {version}, but the workspace pins {pin.text}",
            Outcome.USAGE,
            at=workspace.settings.at(("mcpgen",)),
            why="one version generates all servers of a workspace, so that they behave alike",
            help=f"run an mcpgen that the pin allows, or `mcpgen ws upgrade --to {version}`",
        )
