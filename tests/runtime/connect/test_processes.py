"""Tests of connecting accounts at servers with several processes, and under an ASGI server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mcpgen.runtime.upstream.http.sender import HttpSender
from tests.support.connecting import Browser, World, account_of, is_asked
from tests.support.connecting_processes import (
    ASGI,
    CALL,
    HTTP,
    ConnectServer,
    open_event_stream,
    open_session,
    running_servers,
)
from tests.support.redis_server import RedisServer
from tests.support.replica_processes import find_children, until

BOUND_SECONDS = 180.0
pytestmark = pytest.mark.slow

Scenario = Callable[[World, list[ConnectServer]], Awaitable[None]]


def observe(source: Path, scenario: Scenario, *commands: Sequence[str], **settings: str) -> None:
    async def bounded() -> None:
        async with (
            asyncio.timeout(BOUND_SECONDS),
            running_servers(source, *commands, **settings) as (world, servers),
        ):
            await scenario(world, servers)

    asyncio.run(bounded())


@pytest.mark.parametrize("store", ["redis", "sqlite"])
def test_a_client_is_told_at_any_replica_that_its_user_has_connected_at_another(
    source: Path, tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    async def scenario(world: World, servers: list[ConnectServer]) -> None:
        first, second = (server.base_url for server in servers)
        for user, opened, listening, calling, browsing in [
            ("ada", first, first, first, second),
            ("bob", first, second, first, second),
            ("eve", first, second, first, first),
            ("kim", second, first, first, second),
        ]:
            seen = replace(world, replicas=[it for it in world.replicas if it.base_url == browsing])
            session = await open_session(world, user, "2025-11-25", opened)
            async with open_event_stream(listening, session) as stream:
                error = (await world.post(CALL, session, base=calling))["error"]
                assert error["code"] == -32042
                (elicitation,) = error["data"]["elicitations"]
                page = await Browser(seen, user).connect(elicitation["url"])
                assert "is connected" in page.text
                told = await stream.read("notifications/elicitation/complete")
                assert told["params"] == {"elicitationId": elicitation["elicitationId"]}
            for base in (first, second):
                assert account_of(await world.post(CALL, session, base=base)) == user

    if store == "redis":
        with RedisServer(tmp_path) as server:
            observe(source, scenario, HTTP, HTTP, STATE_URL=server.url)
    else:
        observe(source, scenario, HTTP, HTTP, STATE_URL=f"sqlite:///{tmp_path / 'state.db'}")


async def use_an_account(world: World, user: str, change: Callable[[], Awaitable[None]]) -> None:
    """Connect an account, call with it and revoke it; call `change` between the steps."""
    asked = (await world.call(user))["result"]
    ((key, elicitation),) = asked["inputRequests"].items()
    assert elicitation["params"]["mode"] == "url"
    browser = Browser(world, user)
    await change()
    page = await browser.open(elicitation["params"]["url"])
    assert page.title == "Connect Animals"
    await change()
    opening = await browser.submit(page, action="connect")
    await change()
    assert "is connected" in (await browser.follow_refresh(opening)).text
    assert "/callback?" in browser.history[-1]
    await change()
    answer = {key: {"action": "accept"}}
    called = await world.call(user, inputResponses=answer, requestState=asked["requestState"])
    assert account_of(called) == user
    assert is_asked(await world.call(f"not-{user}"))  # it is the account of one user
    await change()
    listed = await browser.open(f"{world.public_url.removesuffix('/mcp')}/connections")
    assert "Connected on" in listed.text
    await change()
    count = len(world.provider.revoked)
    revoked = await browser.submit(listed, action="disconnect")
    assert "Disconnected." in revoked.text
    assert len(world.provider.revoked) == count + 1
    await change()
    assert is_asked(await world.call(user))


async def change_nothing() -> None:
    """Keep all steps on the same server."""


@pytest.mark.parametrize("with_store", [False, True])
def test_users_connect_accounts_under_an_asgi_server(
    source: Path, tmp_path: Path, with_store: bool
) -> None:
    async def scenario(world: World, _: list[ConnectServer]) -> None:
        await use_an_account(world, "ada", change_nothing)
        session = await open_session(world, "bob", "2025-11-25", world.next_base())
        async with open_event_stream(world.next_base(), session) as stream:
            (elicitation,) = (await world.post(CALL, session))["error"]["data"]["elicitations"]
            await Browser(world, "bob").connect(elicitation["url"])
            told = await stream.read("notifications/elicitation/complete")
            assert told["params"] == {"elicitationId": elicitation["elicitationId"]}

    settings = {"STATE_URL": f"sqlite:///{tmp_path / 'state.db'}"} if with_store else {}
    observe(source, scenario, ASGI, **settings)


def test_an_asgi_server_and_one_of_its_own_share_links_and_accounts(
    source: Path, tmp_path: Path
) -> None:
    async def scenario(world: World, _: list[ConnectServer]) -> None:
        for user in ("ada", "bob"):  # an odd number of requests apart
            await use_an_account(world, user, change_nothing)

    observe(source, scenario, ASGI, HTTP, STATE_URL=f"sqlite:///{tmp_path / 'state.db'}")


class Workers:
    """The workers of a server, which are used in turn."""

    def __init__(self, world: World, pids: Sequence[int]) -> None:
        self._world = world
        self._pids = list(pids)

    async def change(self) -> None:
        """Send the next requests on a connection accepted by another worker."""
        self._pids.reverse()
        _, stopped = self._pids
        await self._world.sender.aclose()
        self._world.sender = HttpSender("test")
        os.kill(stopped, signal.SIGSTOP)
        try:
            response = await self._world.send("GET", f"{self._world.next_base()}/livez")
        finally:
            os.kill(stopped, signal.SIGCONT)
        assert response.status == 200


def test_each_step_of_a_connection_may_reach_another_worker(source: Path, tmp_path: Path) -> None:
    async def scenario(world: World, servers: list[ConnectServer]) -> None:
        process = servers[0].process
        assert process is not None
        await until(lambda: len(find_children(process.pid)) == 2)
        workers = Workers(world, find_children(process.pid))
        await use_an_account(world, "ada", workers.change)

    url = f"sqlite:///{tmp_path / 'state.db'}"
    observe(source, scenario, (*HTTP, "--workers", "2"), STATE_URL=url)
