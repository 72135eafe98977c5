"""Tests on the wire that each API request carries the credentials of its own caller."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine
from typing import Any

import aiohttp
import pytest

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.startup.authorization import make_authorization
from mcpgen.testing.client.client import MODERN, Client
from tests.runtime.transports.http.test_server import until
from tests.support.authorized import PORT, RESOURCE, ask
from tests.support.callers import (
    EXCHANGED,
    KEY_HEADER,
    PETSTORE,
    SOURCES,
    CallersServer,
    RecordingApi,
    serve_callers,
)
from tests.support.http_server import Client as HttpClient
from tests.support.http_server import make_app
from tests.support.issuer import running_issuer

USERS, CALLS = 20, 1000
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", MODERN)
FOREIGN = {
    "Cookie": "session=of-the-client",
    "X-Api-Key": "of-the-client",
    "X-Petstore-Key": "of-the-client",
    "Proxy-Authorization": "Basic of-the-client",
    "X-Forwarded-For": "192.0.2.1",
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}


@pytest.fixture(autouse=True)
def _package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PETSTORE))


def run(coroutine: Coroutine[Any, Any, None], seconds: float = 120.0) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await coroutine

    asyncio.run(bounded())


def headers_of(user: str) -> dict[str, str]:
    """Return the headers of a user's client: a key of the API, and a token for this server."""
    return {KEY_HEADER: f"key-of-{user}", "Authorization": f"Bearer token-for-{user}", **FOREIGN}


def secrets_of(user: str) -> list[str]:
    return [f"key-of-{user}", f"token-for-{user}", f"{EXCHANGED}token-for-{user}"]


def text_of(result: dict[str, Any]) -> str:
    return json.dumps(result)


def check_api_requests(server: CallersServer, users: list[str]) -> None:
    """Check that each API request has only the credential of the user in its path."""
    for path, headers in server.api.requests:
        user = path.rpartition("/")[2]
        if user.isdecimal():
            user = users[int(user) % USERS]
            assert headers["x-petstore-key"] == f"key-of-{user}"
            assert "authorization" not in headers
        else:
            user = user.partition("-")[0]
            assert headers["authorization"].startswith(f"Bearer {EXCHANGED}token-for-{user}-")
            assert "x-petstore-key" not in headers
        everything = f"{path} {headers}"
        assert f"Bearer token-for-{user}'" not in everything
        assert "of-the-client" not in everything
        assert KEY_HEADER.lower() not in headers
        assert headers.keys() & {"cookie", "x-forwarded-for", "traceparent", "x-api-key"} == set()


def test_each_of_1000_interleaved_calls_has_the_credential_of_its_own_caller() -> None:
    users = [f"user{number:02}x" for number in range(USERS)]
    said: list[str] = []

    async def call(client: Client, user: str, number: int) -> None:
        if number % 2:
            result = await client.call_tool("get_user", {"username": f"{user}-{number}"})
        else:
            pet = USERS * (number + 1) + users.index(user)
            result = await client.call_tool("get_pet", {"pet_id": pet})
        text = text_of(result)
        said.append(text)
        assert "***" in text  # the API repeated the credential, and it was masked
        assert not result.get("isError"), text

    async def scenario() -> None:
        async with serve_callers() as server:
            clients = [
                Client.over_http(server.url, revision=revision, headers=headers_of(user))
                for user, revision in zip(users, itertools.cycle(REVISIONS), strict=False)
            ]
            for client in clients:
                await client.__aenter__()
            turns = [(number % USERS, number // USERS) for number in range(CALLS)]
            gate = asyncio.Semaphore(100)

            async def take_turn(at: int, number: int) -> None:
                async with gate:
                    await call(clients[at], users[at], number)

            await asyncio.gather(*(take_turn(*turn) for turn in turns))
            for client in clients:
                await client.__aexit__()
            assert len(server.api.requests) == CALLS
            check_api_requests(server, users)
            assert server.api.numbers == {f"token-for-{user}": 1 for user in users}
            written = "\n".join(server.log_lines)
            for user in users:
                for secret in secrets_of(user):
                    assert not any(secret in text for text in said)
                    assert secret not in written

    run(scenario())


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_a_call_without_the_header_is_an_error_that_names_it(revision: str) -> None:
    async def scenario() -> None:
        async with (
            serve_callers() as server,
            Client.over_http(server.url, revision=revision) as client,
        ):
            result = await client.call_tool("get_pet", {"pet_id": 1})
            assert result["isError"]
            assert "`X-Shop-Key`" in text_of(result)
            assert "configure the MCP client" in text_of(result)
            assert server.api.requests == []

    run(scenario())


def test_a_session_does_not_keep_the_credential_of_an_earlier_request() -> None:
    async def scenario() -> None:
        async with serve_callers() as server:
            client = Client.over_http(server.url, headers={KEY_HEADER: "key-of-ann"})
            async with client:
                connection: Any = client.connection
                assert not (await client.call_tool("get_pet", {"pet_id": 1})).get("isError")
                connection.headers[KEY_HEADER] = "key-of-bob"
                assert not (await client.call_tool("get_pet", {"pet_id": 2})).get("isError")
                del connection.headers[KEY_HEADER]
                assert (await client.call_tool("get_pet", {"pet_id": 3}))["isError"]
            sent = [headers["x-petstore-key"] for _, headers in server.api.requests]
            assert sent == ["key-of-ann", "key-of-bob"]

    run(scenario())


def test_calls_of_a_batch_have_the_credential_of_their_request() -> None:
    def call(id: int) -> dict[str, Any]:
        params = {"name": "get_pet", "arguments": {"pet_id": id}}
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}

    async def scenario() -> None:
        async with serve_callers() as server:
            client = Client.over_http(server.url, revision="2025-03-26")
            async with client, aiohttp.ClientSession() as session:
                connection: Any = client.connection
                headers = {
                    **connection.headers,
                    KEY_HEADER: "key-of-ann",
                    "Accept": "application/json, text/event-stream",
                }
                batch = [call(7), call(8)]
                async with session.post(server.url, json=batch, headers=headers) as response:
                    assert response.status == 200
                    await response.read()
            assert [it["x-petstore-key"] for _, it in server.api.requests] == ["key-of-ann"] * 2

    run(scenario())


def test_each_message_of_an_event_stream_has_its_own_credential() -> None:
    async def scenario() -> None:
        async with serve_callers() as server, aiohttp.ClientSession() as session:
            base = server.url.removesuffix("/mcp")
            async with session.get(f"{base}/sse") as stream:

                async def read_data() -> str:
                    while line := (await stream.content.readline()).decode():
                        if line.startswith("data: "):
                            return line.removeprefix("data: ").strip()
                    raise AssertionError("the stream ended")

                endpoint = base + await read_data()

                async def post(method: str, params: Any, id: int | None, key: str) -> None:
                    message = {"jsonrpc": "2.0", "method": method, "params": params}
                    if id is not None:
                        message["id"] = id
                    headers = {KEY_HEADER: key} if key else {}
                    async with session.post(endpoint, json=message, headers=headers) as answer:
                        assert answer.status == 202

                client = {"name": "test", "version": "1"}
                params: Any = {"protocolVersion": "2024-11-05", "capabilities": {}}
                await post("initialize", {**params, "clientInfo": client}, 1, "")
                await read_data()
                await post("notifications/initialized", {}, None, "")
                for number, key in ((2, "key-of-ann"), (3, "key-of-bob"), (4, "")):
                    pet = {"name": "get_pet", "arguments": {"pet_id": number}}
                    await post("tools/call", pet, number, key)
                    result = json.loads(await read_data())["result"]
                    assert result.get("isError", False) == (not key)
            sent = [headers["x-petstore-key"] for _, headers in server.api.requests]
            assert sent == ["key-of-ann", "key-of-bob"]

    run(scenario())


def test_a_repeated_header_is_rejected() -> None:
    async def scenario() -> None:
        async with serve_callers() as server, aiohttp.ClientSession() as session:
            fields = [(KEY_HEADER, "key-of-ann"), (KEY_HEADER, "key-of-bob")]
            async with session.post(server.url, json={}, headers=fields) as response:
                assert response.status == 400
                assert "duplicate header x-shop-key" in await response.text()

    run(scenario())


def test_a_head_with_a_credential_is_kept_no_longer_than_its_connection() -> None:
    async def scenario() -> None:
        async with serve_callers() as server:
            headers = {KEY_HEADER: "key-of-ann"}
            async with Client.over_http(server.url, revision=MODERN, headers=headers) as client:
                for _ in range(3):
                    await client.call_tool("get_pet", {"pet_id": 1})
                connections = [*server.server._state.connections]
                assert any(b"key-of-ann" in connection._head._head for connection in connections)
            await until(lambda: not server.server._state.connections)
            assert all(connection._head._parsed is None for connection in connections)

    run(scenario())


def test_errors_of_the_api_do_not_repeat_the_credential() -> None:
    async def scenario() -> None:
        async with (
            serve_callers() as server,
            Client.over_http(server.url, headers=headers_of("ann")) as client,
        ):
            result = await client.call_tool("get_order", {"order_id": 0})
            assert result["isError"], result
            for secret in secrets_of("ann"):
                assert secret not in text_of(result)

    run(scenario())


def test_a_token_that_the_api_refuses_is_exchanged_once_more() -> None:
    async def scenario() -> None:
        async with serve_callers() as server:
            server.api.revoked.add(f"{EXCHANGED}token-for-ann-1")
            async with Client.over_http(server.url, headers=headers_of("ann")) as client:
                calls = (client.call_tool("get_user", {"username": f"ann-{it}"}) for it in range(9))
                for result in await asyncio.gather(*calls):
                    assert not result.get("isError"), result
                assert server.api.numbers == {"token-for-ann": 2}
                server.api.revoked.add(f"{EXCHANGED}token-for-ann-2")
                server.api.revoked.add(f"{EXCHANGED}token-for-ann-3")
                result = await client.call_tool("get_user", {"username": "ann"})
                assert result["isError"]
                assert "log in again" in text_of(result)
                assert server.api.numbers == {"token-for-ann": 3}

    run(scenario())


def test_the_exchange_authenticates_the_server_and_names_the_api() -> None:
    async def scenario() -> None:
        async with serve_callers() as server:
            async with Client.over_http(server.url, headers=headers_of("ann")) as client:
                await client.call_tool("get_user", {"username": "ann"})
            (form,) = server.api.exchanges
            assert form == {
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "subject_token": "token-for-ann",
                "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "audience": server.api.url,
            }

    run(scenario())


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("unknown-ann", "invalid_grant"),
        ("unchanged-ann", "never sent to the API"),
        ("", "does not authorize its callers"),
    ],
)
def test_without_an_exchanged_token_nothing_is_sent(token: str, said: str) -> None:
    async def scenario() -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            serve_callers() as server,
            Client.over_http(server.url, headers=headers) as client,
        ):
            result = await client.call_tool("get_user", {"username": "ann"})
            assert result["isError"]
            assert said in text_of(result)
            assert not token or token not in text_of(result)
            assert server.api.requests == []

    run(scenario())


@pytest.mark.parametrize("source", ["environment", "header", "exchange"])
def test_a_token_for_this_server_never_reaches_the_api(source: str) -> None:
    sources = {
        "environment": {},
        "header": {"bearer": {"from": "header", "header": "X-Shop-Token"}},
        "exchange": {"bearer": {"from": "exchange"}},
    }[source]
    environ = {"PETSTORE_BEARER": "token-of-the-server"} if source == "environment" else {}

    async def scenario() -> None:
        headers = {**headers_of("ann"), "X-Shop-Token": "shop-token-of-ann"}
        async with (
            serve_callers(sources, environ) as server,
            Client.over_http(server.url, headers=headers) as client,
        ):
            await client.call_tool("get_user", {"username": "elsewhere"})  # is redirected
            await client.call_tool("get_user", {"username": "ann"})
            assert [path for path, _ in server.api.requests] == ["/users/elsewhere", "/users/ann"]
            for _, sent in server.api.requests:
                assert "token-for-ann" not in str(sent).replace(f"{EXCHANGED}token-for-ann-1", "")
                assert sent["authorization"] in {
                    "Bearer token-of-the-server",
                    "Bearer shop-token-of-ann",
                    f"Bearer {EXCHANGED}token-for-ann-1",
                }

    run(scenario())


def test_over_stdio_the_error_states_that_a_header_needs_http() -> None:
    async def scenario() -> None:
        package = ServerPackage.load("petstore_mcp")
        package.contract["credentials"] = {"api_key": {"from": "header", "header": KEY_HEADER}}
        async with Client.in_memory(package, {}) as client:
            result = await client.call_tool("get_pet", {"pet_id": 1})
            assert result["isError"]
            assert "must be started with --http" in text_of(result)
            assert f"`{KEY_HEADER}`" in text_of(result)

    run(scenario())


def test_pages_may_send_the_header_after_a_preflight() -> None:
    from mcpgen.runtime.transports.http.host_check import make_preflight_fields

    asked = {b"access-control-request-headers": b"x-shop-key, x-other, content-type"}
    fields = dict(make_preflight_fields(asked, frozenset({b"x-shop-key"})))
    assert fields[b"access-control-allow-headers"] == b"x-shop-key, content-type"
    fields = dict(make_preflight_fields(asked))
    assert fields[b"access-control-allow-headers"] == b"content-type"


def test_an_authorized_caller_has_a_header_and_an_exchanged_token() -> None:
    """With a real issuer: its token admits the caller, and is exchanged for one of the API."""

    async def scenario() -> None:
        async with running_issuer() as issuer, RecordingApi().listening() as api:
            package = ServerPackage.load("petstore_mcp")
            package.contract["credentials"] = dict(SOURCES)
            settings = {
                "PETSTORE_BASE_URL": api.url,
                "PETSTORE_AUTH_ISSUER": issuer.identifier,
                "PETSTORE_EXCHANGE_TOKEN_URL": f"{api.url}/token",
            }
            authorization = make_authorization(package.contract, settings)
            assert authorization is not None
            authorization.listen_at(PORT)
            dispatcher = package.make_dispatcher(settings)
            app = make_app(package, dispatcher, authorization=authorization)
            client, token = HttpClient(app), issuer.token(RESOURCE)
            refused = await ask(client, **{KEY_HEADER.lower(): "key-of-ann"})
            assert refused.status == 401
            for tool, arguments in (("get_user", {"username": "ann"}), ("get_pet", {"pet_id": 1})):
                params = {"name": tool, "arguments": arguments}
                headers = {KEY_HEADER.lower(): "key-of-ann"}
                answer = await ask(client, token, method="tools/call", params=params, **headers)
                assert not answer.json["result"].get("isError"), answer.json
                assert token not in answer.body.decode()
            (_, of_user), (_, of_pet) = api.requests
            assert of_user["authorization"] == f"Bearer {EXCHANGED}{token}-1"
            assert "authorization" not in of_pet
            assert of_pet["x-petstore-key"] == "key-of-ann"
            await dispatcher.aclose()
            await authorization.aclose()

    run(scenario())
