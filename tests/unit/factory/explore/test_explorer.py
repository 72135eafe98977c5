"""Tests of the explored server: mock or live, calls and records, servers that exit or hang."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.explore.explorer import CallRecord, Explorer, TroubleError
from mcpgen.factory.wire.targets import Target, find_target
from tests.support.explored_server import write_server
from tests.support.paths import EXAMPLES
from tests.support.replica_processes import until
from tests.support.running_process import wait_for_end
from tests.support.running_server import running

PETSTORE = EXAMPLES / "petstore-mcp"


def explore(
    target: Target, story: Callable[[Explorer], Awaitable[Any]], **options: Any
) -> Explorer:
    """Run a scenario with an explorer, and stop it; the time limit is a minute."""

    async def run() -> Explorer:
        explorer = Explorer(target, **options)
        try:
            async with asyncio.timeout(60):
                await story(explorer)
        finally:
            await explorer.stop()
        return explorer

    return asyncio.run(run())


def test_a_package_is_explored_with_a_mock_that_records_requests() -> None:
    async def story(explorer: Explorer) -> None:
        tools = await explorer.connect()
        assert {"get_pet", "delete_pet"} <= {it.name for it in tools}
        record = await explorer.call("get_pet", {"pet_id": 7})
        assert (record.outcome, record.message) == ("done", "")
        assert record.result is not None
        assert record.result["structuredContent"]["name"] == "Rex"
        assert [str(it).rpartition("/v1")[2] for it in record.requests] == ["/pets/7"]
        assert record.seconds > 0

    explorer = explore(find_target([str(PETSTORE)]), story)
    assert explorer.is_mocked
    assert (explorer.name, explorer.revision) == ("petstore", "2025-11-25")
    assert [it.tool for it in explorer.calls] == ["get_pet"]


def test_live_calls_reach_the_api_and_not_a_mock() -> None:
    async def tell() -> list[str]:
        async with running(PETSTORE) as server:
            settings = {"PETSTORE_BASE_URL": server.upstream.base_url, "PETSTORE_API_KEY": "own"}
            pairs = [f"{name}={value}" for name, value in settings.items()]
            explorer = Explorer(find_target([str(PETSTORE)], environment=pairs), is_live=True)
            await explorer.connect()
            record = await explorer.call("get_pet", {"pet_id": 7})
            await explorer.stop()
            assert not explorer.is_mocked
            assert (record.outcome, record.requests) == ("done", ())
            return [str(it) for it in server.upstream.requests]

    assert len(asyncio.run(tell())) == 1


def test_a_url_is_explored_with_the_revision_that_it_speaks() -> None:
    async def tell() -> tuple[str, CallRecord]:
        async with running(PETSTORE) as server:
            explorer = Explorer(Target(url=server.url), revision="2026-07-28")
            await explorer.connect()
            record = await explorer.call("get_pet", {"pet_id": 7})
            await explorer.stop()
            return explorer.revision, record

    revision, record = asyncio.run(tell())
    assert (revision, record.outcome) == ("2026-07-28", "done")


def test_an_error_of_the_tool_is_told_from_one_of_the_protocol() -> None:
    async def story(explorer: Explorer) -> None:
        await explorer.connect()
        assert (await explorer.call("get_pet", {"pet_id": 0})).outcome == "tool error"
        record = await explorer.call("no_such_tool", {})
        assert record.outcome == "refused"
        assert "no_such_tool" in record.message

    explore(find_target([str(PETSTORE)]), story)


def test_a_modern_server_without_a_handshake_is_explored(tmp_path: Path) -> None:
    async def story(explorer: Explorer) -> None:
        assert [it.name for it in await explorer.connect()] == ["wait"]

    target = write_server(tmp_path, initialize=None)
    assert explore(target, story).revision == "2026-07-28"


def test_a_server_that_dies_is_reported_and_started_again(tmp_path: Path) -> None:
    async def story(explorer: Explorer) -> None:
        await explorer.connect()
        record = await explorer.call("wait", {"then": "die"})
        assert record.outcome == "stopped"
        assert "I am dying" in record.log
        assert (await explorer.call("wait", {"then": "answer"})).outcome == "done"

    explore(write_server(tmp_path), story)


def test_a_server_that_hangs_is_stopped_after_a_time_limit(tmp_path: Path) -> None:
    async def story(explorer: Explorer) -> None:
        await explorer.connect()
        pid = int((tmp_path / "pid").read_text())
        record = await explorer.call("wait", {"then": "hang"})
        assert (record.outcome, record.result) == ("no answer", None)
        assert "did not answer in time" in record.message
        wait_for_end(pid)
        assert (await explorer.call("wait", {"then": "answer"})).outcome == "done"

    explore(write_server(tmp_path), story, timeout_seconds=3.0)


def test_a_cancelled_call_stops_the_server(tmp_path: Path) -> None:
    async def story(explorer: Explorer) -> None:
        await explorer.connect()
        pid = int((tmp_path / "pid").read_text())
        call = asyncio.create_task(explorer.call("wait", {"then": "hang"}))
        await until((tmp_path / "called").exists)
        await explorer.cancel()
        record = await call
        assert (record.outcome, record.message) == ("cancelled", "the call was cancelled")
        wait_for_end(pid)

    explore(write_server(tmp_path), story)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-program"], "cannot run `no-such-program`"),
        (["false"], "the server closed its standard output"),
        (["http://127.0.0.1:1/mcp"], "cannot post to http://127.0.0.1:1/mcp"),
    ],
)
def test_a_server_that_does_not_start_is_a_trouble(command: list[str], message: str) -> None:
    async def story(explorer: Explorer) -> None:
        with pytest.raises(TroubleError, match=message):
            await explorer.connect()
        record = await explorer.call("anything", {})
        assert (record.outcome, message in record.message) == ("stopped", True)

    explore(find_target(command), story)


def test_the_log_of_a_server_that_does_not_start_is_kept() -> None:
    script = "import sys; sys.exit('no database')"

    async def story(explorer: Explorer) -> None:
        with pytest.raises(TroubleError) as caught:
            await explorer.connect()
        assert caught.value.log == "no database"

    explore(find_target([sys.executable, "-c", script]), story)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initialize": "error"}, "it does not accept MCP 2025-11-25"),
        ({"listing": "error"}, "it does not list its tools"),
        ({"listing": "garbage"}, "it does not list its tools"),
    ],
)
def test_a_server_that_answers_nonsense_is_a_trouble(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    async def story(explorer: Explorer) -> None:
        with pytest.raises(TroubleError, match=message):
            await explorer.connect()

    explore(write_server(tmp_path, **options), story, revision="2025-11-25", timeout_seconds=3.0)


def test_the_process_ends_with_the_exploration(tmp_path: Path) -> None:
    async def story(explorer: Explorer) -> None:
        await explorer.connect()
        os.kill(int((tmp_path / "pid").read_text()), 0)

    explore(write_server(tmp_path), story)
    wait_for_end(int((tmp_path / "pid").read_text()))
