"""Tests of a server killed while a user connects: another process continues, or nothing is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcpgen.runtime.upstream.errors import UpstreamError
from tests.support.connecting import Browser, World, account_of, is_asked
from tests.support.connecting_processes import HTTP, ConnectServer, running_servers

BOUND_SECONDS = 120.0
pytestmark = pytest.mark.slow


Scenario = Callable[[World, ConnectServer], Awaitable[None]]


def observe(source: Path, store: Path, scenario: Scenario) -> None:
    async def bounded() -> None:
        url = f"sqlite:///{store}"
        async with (
            asyncio.timeout(BOUND_SECONDS),
            running_servers(source, HTTP, STATE_URL=url) as (world, (server,)),
        ):
            await scenario(world, server)

    asyncio.run(bounded())


def test_a_connect_continues_after_the_server_was_killed(source: Path, tmp_path: Path) -> None:
    async def scenario(world: World, server: ConnectServer) -> None:
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
    async def scenario(world: World, server: ConnectServer) -> None:
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
