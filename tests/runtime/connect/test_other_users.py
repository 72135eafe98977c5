"""Tests on the wire that nothing of a user is accessible to another user, in any replica."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.connecting import CAN_OPEN_URLS, Browser, World, account_of, is_asked
from tests.support.connecting_processes import (
    CALL,
    HTTP,
    open_event_stream,
    open_session,
    running_servers,
)

BOUND_SECONDS = 180.0
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
pytestmark = pytest.mark.slow


class Replicas:
    """A client that sends requests to each replica."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._bases = [replica.base_url for replica in world.replicas]

    async def send(
        self, method: str, headers: Mapping[str, str], message: Any = None, path: str = "/mcp"
    ) -> list[tuple[int, bytes]]:
        """Send a request to each replica; return their responses."""
        body = b"" if message is None else json.dumps(message).encode()
        responses = [
            await self._world.send(method, f"{base}{path}", body, {**ACCEPT, **headers})
            for base in self._bases
        ]
        return [(response.status, response.body) for response in responses]


async def check_session(world: World, replicas: Replicas) -> None:
    """Use a session of Ada as Bob, and her event ids in his session."""
    ada = await open_session(world, "ada", "2025-11-25", world.next_base())
    bob = await open_session(world, "bob", "2025-11-25", world.next_base())
    stolen = {**bob, "mcp-session-id": ada["mcp-session-id"]}
    invented = {**bob, "mcp-session-id": "x" * len(ada["mcp-session-id"])}
    for method in ("POST", "GET", "DELETE"):
        message = CALL if method == "POST" else None
        answers = await replicas.send(method, stolen, message)
        assert answers == await replicas.send(method, invented, message)
        assert {status for status, _ in answers} == {404}
    for base in (it.base_url for it in world.replicas):
        async with open_event_stream(base, ada) as stream:
            line = await stream.read_line(b"id: ")
        event_id = line.decode().strip().removeprefix("id: ")
        kind, _, number = event_id.rpartition("-")
        unknown = f"{kind[:-1]}f-{number}"
        answers = await replicas.send("GET", {**bob, "last-event-id": event_id})
        assert answers == await replicas.send("GET", {**bob, "last-event-id": unknown})
        assert {status for status, _ in answers} == {400}
    assert {status for status, _ in await replicas.send("POST", ada, CALL)} == {200}


async def check_request_state(world: World) -> None:
    """Continue a call of Ada, whose account is connected, as Bob."""
    asked = (await world.call("ada"))["result"]
    ((key, elicitation),) = asked["inputRequests"].items()
    await Browser(world, "ada").connect(elicitation["params"]["url"])
    answer: dict[str, Any] = {
        "inputResponses": {key: {"action": "accept"}},
        "requestState": asked["requestState"],
    }
    for replica in world.replicas:
        refused = await world.call("bob", base=replica.base_url, **answer)
        assert refused["error"]["code"] == -32602
    assert account_of(await world.call("ada", **answer)) == "ada"
    assert is_asked(await world.call("bob"))


async def check_pages(world: World) -> None:
    """Open links and redirects of Ada in Bob's browser, and check that her account is not shown."""
    pages = world.public_url.removesuffix("/mcp")
    link = await world.ask_for_link("ada", "add_pet")
    for replica in world.replicas:
        at_one = replace(world, replicas=[replica])
        bob = Browser(at_one, "bob")
        shown = await bob.open(link)
        assert shown.status == 404
        own = await bob.open(f"{pages}/connections")
        assert "No account is connected" in own.text
        _, fields = own.form()
        for changes in ({"action": "connect"}, {"action": "cancel"}):
            posted = await bob.open(link, {**fields, **changes})
            assert posted.status == 404
        disconnected = {**fields, "scheme": "account", "action": "disconnect"}
        assert (
            "No account is connected" in (await bob.open(f"{pages}/connections", disconnected)).text
        )
    assert account_of(await world.call("ada")) == "ada"
    assert "is connected" in (await Browser(world, "ada").connect(link)).text


async def check_notifications(world: World) -> None:
    """Let Ada connect while Bob, who was also asked to connect, listens."""
    first, second = (replica.base_url for replica in world.replicas)
    sessions = {
        user: await open_session(world, user, "2025-11-25", first) for user in ("eve", "kim")
    }
    links = {}
    for user, session in sessions.items():
        (elicitation,) = (await world.post(CALL, session))["error"]["data"]["elicitations"]
        links[user] = elicitation
    async with (
        open_event_stream(first, sessions["eve"]) as of_eve,
        open_event_stream(second, sessions["kim"]) as of_kim,
    ):
        for user, stream in (("eve", of_eve), ("kim", of_kim)):
            await Browser(world, user).connect(links[user]["url"])
            told = await stream.read("notifications/elicitation/complete")  # the first one
            assert told["params"] == {"elicitationId": links[user]["elicitationId"]}


def test_what_belongs_to_a_user_is_unknown_to_another_one(source: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        url = f"sqlite:///{tmp_path / 'state.db'}"
        async with (
            asyncio.timeout(BOUND_SECONDS),
            running_servers(source, HTTP, HTTP, STATE_URL=url) as (world, _),
        ):
            await check_session(world, Replicas(world))
            await check_request_state(world)
            await check_pages(world)
            await check_notifications(world)
            for user in ("ada", "eve", "kim"):
                for replica in world.replicas:
                    answer = await world.call(user, base=replica.base_url, meta=CAN_OPEN_URLS)
                    assert account_of(answer) == user
            calls = world.provider.calls
            assert calls
            assert all(token.startswith(f"access-{account}-") for account, token in calls)

    asyncio.run(scenario())
