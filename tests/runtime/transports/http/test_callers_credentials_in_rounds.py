"""Tests that each request of a call has its caller's credential: pages, polls, rounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing.suite.virtual_time import VirtualTimeLoop
from tests.support.http_server import BOUND_SECONDS, Client, make_app
from tests.support.paths import EXAMPLES

HEADER = "X-Key-Of-Caller"
ANN, BOB = {HEADER: "key-of-ann"}, {HEADER: "key-of-bob"}
JSON = (("Content-Type", "application/json"),)
FORMS = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}


class Api:
    """An API that answers with these bodies; the last one is repeated."""

    def __init__(self, *bodies: Any) -> None:
        self.bodies = bodies
        self.keys: list[str] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        headers = {name.lower(): value for name, value in request.headers}
        self.keys.append(headers.get("x-chatdesk-key") or headers.get("x-shop-key") or "")
        body = self.bodies[min(len(self.keys), len(self.bodies)) - 1]
        return HttpResponse(200, JSON, json.dumps(body).encode())


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run a scenario with a client of an example, whose credentials come from a header."""
    for name in ("chatdesk", "bookshop"):
        monkeypatch.syspath_prepend(str(EXAMPLES / f"{name}-mcp/src"))

    def run_scenario(
        name: str, scheme: str, api: Api, scenario: Callable[[Client], Coroutine[Any, Any, None]]
    ) -> None:
        async def serve() -> None:
            package = ServerPackage.load(f"{name}_mcp", generated_only=True)
            package.contract["credentials"] = {scheme: {"from": "header", "header": HEADER}}
            dispatcher = package.make_dispatcher({}, send=api.send)
            app = make_app(package, dispatcher)
            await asyncio.wait_for(scenario(Client(app)), 60 * BOUND_SECONDS)
            await dispatcher.aclose()

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(serve())

    return run_scenario


def calling(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": arguments}


def test_each_page_is_requested_with_the_credential(run: Callable[..., None]) -> None:
    api = Api({"items": [], "next_cursor": "b"}, {"items": [], "next_cursor": "c"}, {"items": []})

    async def scenario(client: Client) -> None:
        response = await client.post_modern(
            "tools/call", calling("list_bots", max_pages=5), headers=ANN
        )
        assert not response.json["result"].get("isError"), response.json

    run("chatdesk", "api_key", api, scenario)
    assert api.keys == ["key-of-ann"] * 3


def test_each_poll_has_the_credential(run: Callable[..., None]) -> None:
    api = Api({"id": "1", "status": "running"}, {"id": "1", "status": "done"})

    async def scenario(client: Client) -> None:
        call = calling("get_job", job_id="job_1234567")
        await client.begin_modern("tools/call", call, headers=ANN).complete()

    run("chatdesk", "api_key", api, scenario)
    assert api.keys == ["key-of-ann"] * 2


def test_each_step_of_a_workflow_has_the_credential(run: Callable[..., None]) -> None:
    book = {"isbn": "9780000000002", "title": "On Keys"}
    api = Api({"items": [book]}, {"id": "7f3c2e1a-0000-4000-8000-000000000001"}, {"id": "1"})

    async def scenario(client: Client) -> None:
        await client.initialize("2025-11-25")
        params = calling(
            "buy_book",
            words="keys",
            reference="r",
            idempotency_key="7f3c2e1a-0000-4000-8000-000000000002",
        )
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        await client.begin(message, ANN).complete()

    run("bookshop", "shop_key", api, scenario)
    assert api.keys[0] == "key-of-ann"  # `listBooks`; `openCart` needs no credential
    assert set(api.keys[1:]) <= {"", "key-of-ann"}


def test_the_round_that_sends_the_request_decides_on_the_credential(
    run: Callable[..., None],
) -> None:
    """A client of 2026-07-28 calls again, with the user's answer and with its header."""
    api = Api({})

    async def scenario(client: Client) -> None:
        call = calling("delete_tag", tag="old")

        async def answer(headers: dict[str, str]) -> dict[str, Any]:
            asked = await client.post_modern("tools/call", call, headers=ANN, meta=FORMS)
            result = asked.json["result"]
            assert api.keys == []
            (key,) = result["inputRequests"]
            more = {
                "requestState": result["requestState"],
                "inputResponses": {key: {"action": "accept", "content": {}}},
            }
            told = await client.post_modern(
                "tools/call", {**call, **more}, headers=headers, meta=FORMS
            )
            found: dict[str, Any] = told.json["result"]
            return found

        without = await answer({})
        assert without["isError"]
        assert HEADER in json.dumps(without)
        assert api.keys == []
        assert not (await answer(BOB)).get("isError")
        assert api.keys == ["key-of-bob"]

    run("chatdesk", "api_key", api, scenario)


def test_a_question_to_a_legacy_client_does_not_change_the_credential(
    run: Callable[..., None],
) -> None:
    """The answer arrives in another HTTP request, without the header of the call."""
    api = Api({})

    async def scenario(client: Client) -> None:
        await client.initialize("2025-06-18", {"elicitation": {}})
        params = calling("delete_tag", tag="old")
        call = client.begin(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, ANN
        )
        response = await call.until(
            lambda seen: any("elicitation/create" in str(it) for it in seen.messages)
        )
        (asked,) = [it for it in response.messages if it.get("method") == "elicitation/create"]
        answer = {"action": "accept", "content": {}}
        message = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
        await client.begin(message, BOB).complete()
        await call.complete()

    run("chatdesk", "api_key", api, scenario)
    assert api.keys == ["key-of-ann"]
