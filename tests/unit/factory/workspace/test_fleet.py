"""Tests of processing many servers at once: they fail independently, and keep their order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpgen.factory.workspace.fleet import ServerResult, run_fleet, sort_longest_first
from mcpgen.factory.workspace.members import Server
from mcpgen.forked import Forked
from mcpgen.pipeline.options import Outcome

SERVERS = [Server(name, Path(name)) for name in ("ant", "bee", "cat", "dog")]


def name_process(server: Server) -> ServerResult:
    return ServerResult(server.path, Outcome.DONE, str(os.getpid()))


def raise_for_bee(server: Server) -> ServerResult:
    if server.path == "bee":
        raise ZeroDivisionError
    return ServerResult(server.path, Outcome.DONE, "done")


def die_for_bee(server: Server) -> ServerResult:
    if server.path == "bee":
        os._exit(9)
    return ServerResult(server.path, Outcome.DONE, "done")


def say_whether_forked(server: Server) -> ServerResult:
    with Forked(os.getpid) as work:
        is_forked = work.result() != os.getpid()
    return ServerResult(server.path, Outcome.DONE, str(is_forked))


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_are_in_the_order_of_the_servers(jobs: int) -> None:
    heard: list[str] = []
    results = run_fleet(name_process, SERVERS, jobs, heard.append)
    assert [each.server for each in results] == ["ant", "bee", "cat", "dog"]
    assert (results[0].summary == str(os.getpid())) is (jobs == 1)
    assert [line for line in heard if line.startswith("4 of 4: ")]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_bug_in_one_server_does_not_affect_the_others(jobs: int) -> None:
    results = run_fleet(raise_for_bee, SERVERS, jobs, lambda _: None)
    assert [each.outcome for each in results] == ["done", "bug", "done", "done"]
    assert "ZeroDivisionError" in results[1].traceback


def test_a_process_that_dies_does_not_affect_the_others() -> None:
    results = run_fleet(die_for_bee, SERVERS, 2, lambda _: None)
    assert [each.outcome for each in results] == ["done", "bug", "done", "done"]
    assert "its process died" in results[1].problems[0].message


def test_processes_that_share_the_cores_do_not_fork() -> None:
    results = run_fleet(say_whether_forked, SERVERS, 2, lambda _: None)
    assert [each.summary for each in results] == ["False"] * 4


def test_the_largest_servers_are_started_first(tmp_path: Path) -> None:
    servers = [Server(name, tmp_path / name) for name in ("small", "none", "large", "as-small")]
    for server, size in zip(servers, (10, None, 1000, 10), strict=True):
        server.target.mkdir()
        if size is not None:
            (server.target / "mcpgen.lock").write_bytes(b"x" * size)
    assert [each.path for each in sort_longest_first(servers)] == [
        "large",
        "small",
        "as-small",
        "none",
    ]
