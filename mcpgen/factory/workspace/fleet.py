"""Parallel execution of one task for many servers; failures are independent."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from msgspec import Struct, field

from mcpgen.diagnostics import Diagnostic, Problems, Severity
from mcpgen.factory.review.model import Review
from mcpgen.factory.workspace.members import Server
from mcpgen.factory.workspace.processes import context
from mcpgen.factory.workspace.shards import measure_work
from mcpgen.forked import forbid_forks
from mcpgen.garbage import collect_frozen_garbage
from mcpgen.pipeline.commands.changelog import ChangelogReport
from mcpgen.pipeline.options import Outcome, Progress
from mcpgen.pipeline.project.disk import is_system_fault, report_system_fault


class ServerResult(Struct, frozen=True):
    """The result of a command for one server."""

    server: str
    outcome: Outcome
    summary: str
    problems: tuple[Diagnostic, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # further fields for `--json`
    text: str = ""  # a diff or a test report, printed unchanged
    traceback: str = ""  # of a bug in mcpgen
    changelog: ChangelogReport | None = None  # changes in its tools
    review: Review | None = None


Task = Callable[[Server], ServerResult]
"""Runs in another process, hence a function of a module, or a `partial` of one."""


def run_fleet(
    task: Task, servers: Sequence[Server], jobs: int, progress: Progress
) -> tuple[ServerResult, ...]:
    """Run `task` for each server, `jobs` at a time; return the results in the servers' order.

    A failure, for whatever reason, is a result too.
    """
    done: dict[str, ServerResult] = {}

    def note(result: ServerResult) -> None:
        done[result.server] = result
        progress(f"{len(done)} of {len(servers)}: {result.server} {result.summary}")

    if min(jobs, len(servers)) <= 1:
        for server in servers:
            progress(f"{len(done)} of {len(servers)}: {server.path} ...")
            note(_attempt(task, server))
    else:
        _run_pool(task, servers, min(jobs, len(servers)), note)
        for server in servers:
            if server.path not in done:  # its process died, or it was waiting then
                _run_pool(task, [server], 1, note)
                if server.path not in done:
                    note(_report_bug(server, "its process died", ""))
    return tuple(done[server.path] for server in servers)


def _run_pool(
    task: Task, servers: Sequence[Server], processes: int, note: Callable[[ServerResult], None]
) -> None:
    """Run in a process pool; return early if one of the processes dies."""
    with ProcessPoolExecutor(processes, context(), initializer=forbid_forks) as pool:
        waiting: list[Future[ServerResult]] = [
            pool.submit(_attempt, task, each) for each in sort_longest_first(servers)
        ]
        try:
            for finished in as_completed(waiting):
                note(finished.result())
        except BrokenProcessPool:
            return
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def sort_longest_first(servers: Sequence[Server]) -> list[Server]:
    """Sort servers by their estimated work, so that no long task starts last."""
    return sorted(servers, key=measure_work, reverse=True)


def _attempt(task: Task, server: Server) -> ServerResult:
    try:
        return task(server)
    except Exception as error:  # noqa: BLE001  (a server is a unit of failure: the others go on)
        if is_system_fault(error):
            problems = Problems()
            outcome = report_system_fault(error, problems, server.target)
            return ServerResult(server.path, outcome, "stopped by the system", tuple(problems))
        return _report_bug(server, type(error).__name__, traceback.format_exc())
    finally:
        collect_frozen_garbage()


def _report_bug(server: Server, what: str, details: str) -> ServerResult:
    problem = Diagnostic("bug", Severity.ERROR, f"bug in mcpgen ({what})")
    return ServerResult(server.path, Outcome.BUG, "stopped by a bug", (problem,), traceback=details)
