"""A server that is killed while a user connects: another process continues, or nothing happened."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.sender import HttpSender
from tests.support.connecting import (
    Browser,
    People,
    Provider,
    Replica,
    World,
    account_of,
    find_free_port,
    is_asked,
    make_environ,
)
from tests.support.paths import REPOSITORY

BOUND_SECONDS = 120.0
pytestmark = pytest.mark.slow


class Killable:
    """A process of the server that can be killed and started again."""

    def __init__(self, world: World, source: Path, store: Path, port: int) -> None:
        self._port = port
        paths = os.pathsep.join([str(source), str(REPOSITORY)])
        settings = make_environ(world, STATE_URL=f"sqlite:///{store}")
        self._environ = {**os.environ, **settings, "PYTHONPATH": paths}
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        command = [sys.executable, "-m", "animals_mcp", "--http", "--port", str(self._port)]
        self._process = await asyncio.create_subprocess_exec(
            *command, env=self._environ, stderr=asyncio.subprocess.PIPE
        )
        assert self._process.stderr is not None
        told = b""
        while line := await self._process.stderr.readline():
            told += line
            if b"is served at" in line:
                return
        raise AssertionError(f"the server did not start: {told.decode()}")

    def kill(self) -> None:
        """Kill -9."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def stop(self) -> None:
        """Kill the process and wait for its end."""
        self.kill()
        if self._process is not None:
            await self._process.communicate()

    async def kill_and_start(self) -> None:
        await self.stop()
        await self.start()


@asynccontextmanager
async def running(source: Path, store: Path) -> AsyncIterator[tuple[World, Killable]]:
    provider, people, sender = Provider(), People(), HttpSender("test")
    port = find_free_port()
    base_url = f"http://127.0.0.1:{port}"
    await provider.start()
    await people.start()
    world = World(provider, people, [Replica(base_url)], sender, f"{base_url}/mcp")
    server = Killable(world, source, store, port)
    try:
        await server.start()
        yield world, server
    finally:
        await server.stop()
        await sender.aclose()
        await provider.stop()
        await people.stop()


def observe(
    source: Path, store: Path, scenario: Callable[[World, Killable], Awaitable[None]]
) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(BOUND_SECONDS), running(source, store) as (world, server):
            await scenario(world, server)

    asyncio.run(bounded())


def test_a_connect_continues_after_the_server_was_killed(source: Path, tmp_path: Path) -> None:
    async def scenario(world: World, server: Killable) -> None:
        url = await world.ask_for_link("ada")
        await server.kill_and_start()  # the link has been shown
        browser = Browser(world, "ada")
        page = await browser.open(url)
        await server.kill_and_start()  # the page has been shown
        opening = await browser.submit(page, action="connect")
        await server.kill_and_start()  # the user is at the authorization server
        done = await browser.follow_refresh(opening)
        assert "is connected" in done.text
        await server.kill_and_start()  # the account is stored
        assert account_of(await world.call("ada")) == "ada"

    observe(source, tmp_path / "state.db", scenario)


def test_a_server_killed_while_it_redeems_the_code_has_stored_nothing(
    source: Path, tmp_path: Path
) -> None:
    async def scenario(world: World, server: Killable) -> None:
        browser = Browser(world, "ada")
        page = await browser.open(await world.ask_for_link("ada"))
        opening = await browser.submit(page, action="connect")
        world.provider.before_token = server.kill
        with pytest.raises(UpstreamError):
            await browser.follow_refresh(opening)
        world.provider.before_token = lambda: None
        await server.kill_and_start()
        callback = browser.history[-1]
        assert (await browser.open(callback)).status == 400  # the code cannot be used again
        assert is_asked(await world.call("ada"))
        await world.connect("ada")
        assert account_of(await world.call("ada")) == "ada"

    observe(source, tmp_path / "state.db", scenario)
