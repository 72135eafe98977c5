"""Tests of the requests of one call: attempts, idempotency keys, and limits per origin."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from msgspec import convert

from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.upstream import resilience
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.errors import (
    ConnectError,
    DisconnectedError,
    OverloadedError,
    TimeoutExceededError,
    UpstreamError,
    UpstreamStatusError,
)
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.request.rules import RequestRules
from mcpgen.runtime.upstream.resilience import LimitsByOrigin
from mcpgen.text.hosts import origin_of
from tests.support.fake_upstream import JSON

KEY = "Idempotency-Key"
BUSY, GOOD = HttpResponse(503), HttpResponse(200, JSON, b"1")


def rules(method: str = "GET", **more: Any) -> RequestRules:
    return convert({"method": method, "path": "/pets", **more}, RequestRules)


async def call(client: ApiClient, contract: RequestRules, **values: Any) -> Any:
    return await client.bind("t", contract).request(contract.method, "/pets", returns=int, **values)


def keys(requests: list[HttpRequest]) -> list[str]:
    """Return the idempotency keys of requests, each of which has at most one."""
    found = [[text for name, text in each.headers if name == KEY] for each in requests]
    assert all(len(texts) <= 1 for texts in found)
    return [texts[0] for texts in found if texts]


# -- attempts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [BUSY, ConnectError("x"), DisconnectedError("x")])
@pytest.mark.parametrize(("attempts", "requests"), [(1, 1), (2, 2), (None, 3)])
def test_attempts_limit_the_number_of_requests(
    make_client, upstream, run, outcome, attempts, requests
) -> None:
    upstream.outcomes = (outcome,)
    contract = rules() if attempts is None else rules(attempts=attempts)
    with pytest.raises(UpstreamError):
        run(call(make_client(), contract))
    assert len(upstream.requests) == requests


TOKENS = HttpResponse(200, JSON, b'{"access_token":"t","expires_in":3600}')
SECURED = {"security": [{"login": []}]}


@pytest.fixture
def secured_contract(contract: dict[str, Any]) -> dict[str, Any]:
    flow = {"tokenUrl": "https://login.example/token", "scopes": {}}
    contract["security_schemes"] = {
        "login": {"type": "oauth2", "flows": {"clientCredentials": flow}}
    }
    contract["environment"] = [
        {"name": f"PETSTORE_LOGIN_{part.upper()}", "scheme": "login", "part": part}
        for part in ("client_id", "client_secret")
    ]
    return contract


ENVIRON = {"PETSTORE_LOGIN_CLIENT_ID": "me", "PETSTORE_LOGIN_CLIENT_SECRET": "hidden"}


class SecuredApi:
    """An API with an authorization server, told apart by host."""

    def __init__(self, *outcomes: HttpResponse, token: HttpResponse = TOKENS) -> None:
        self.outcomes = list(outcomes)
        self.token = token
        self.requests: list[HttpRequest] = []
        self.token_requests = 0

    async def send(self, request: HttpRequest) -> HttpResponse:
        if "login.example" in request.url:
            self.token_requests += 1
            return self.token
        self.requests.append(request)
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


@pytest.mark.usefixtures("secured_contract")
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("attempts", "most"), [(1, 2), (2, 2), (None, 2)])
def test_a_rejected_token_is_renewed_once(make_client, run, method, attempts, most) -> None:
    api = SecuredApi(HttpResponse(401))
    client = make_client(ENVIRON)
    client._send = api.send
    contract = rules(method, **SECURED, **({} if attempts is None else {"attempts": attempts}))
    with pytest.raises(UpstreamStatusError, match="401"):
        run(call(client, contract))
    assert len(api.requests) == most
    assert api.token_requests == 2


@pytest.mark.usefixtures("secured_contract")
def test_renewing_a_token_does_not_reset_the_attempts(make_client, run) -> None:
    api = SecuredApi(BUSY, HttpResponse(401), BUSY)
    client = make_client(ENVIRON)
    client._send = api.send
    with pytest.raises(UpstreamStatusError, match="503"):
        run(call(client, rules(**SECURED)))
    assert len(api.requests) == 3


@pytest.mark.usefixtures("secured_contract")
def test_a_failing_token_endpoint_opens_only_its_own_circuit(make_client, run) -> None:
    api = SecuredApi(GOOD, token=BUSY)
    client = make_client(ENVIRON)
    client._send = api.send

    async def scene() -> None:
        for _ in range(30):
            with pytest.raises(ToolError, match="No access token"):
                await call(client, rules(**SECURED))
        assert await call(client, rules()) == 1  # the API itself is not affected

    run(scene())
    assert api.token_requests == 20
    assert len(api.requests) == 1


@pytest.mark.usefixtures("secured_contract")
def test_a_blocked_token_endpoint_blocks_a_bounded_number_of_calls(make_client, run) -> None:
    async def send(request: HttpRequest) -> HttpResponse:
        if "login.example" in request.url:
            await asyncio.Event().wait()
        return GOOD

    client = make_client(ENVIRON)
    client._send = send

    async def scene() -> None:
        waiting = [asyncio.create_task(call(client, rules(**SECURED))) for _ in range(400)]
        await asyncio.sleep(0.05)
        refused = [task for task in waiting if task.done()]
        assert len(refused) == 400 - 201
        assert all(isinstance(task.exception(), OverloadedError) for task in refused)
        assert await call(client, rules()) == 1
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)

    run(scene())


# -- idempotency keys ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(
    "outcome", [*map(HttpResponse, (429, 502, 503, 504)), DisconnectedError("broke.")]
)
def test_a_request_with_an_idempotency_key_is_retried_with_the_same_key(
    make_client, upstream, run, method, outcome
) -> None:
    upstream.outcomes = (outcome, outcome, GOOD)
    assert run(call(make_client(), rules(method, idempotency_header=KEY))) == 1
    first, *others = keys(upstream.requests)
    assert UUID(first).version == 4
    assert others == [first, first]


@pytest.mark.parametrize("status", [400, 409, 422, 500])
def test_a_final_status_is_not_retried_with_an_idempotency_key(
    make_client, upstream, run, status
) -> None:
    upstream.outcomes = (HttpResponse(status),)
    with pytest.raises(UpstreamStatusError):
        run(call(make_client(), rules("POST", idempotency_header=KEY)))
    assert len(upstream.requests) == 1


def test_each_call_has_its_own_idempotency_key(make_client, upstream, run) -> None:
    upstream.outcomes = (GOOD,)
    client = make_client()

    async def scene() -> None:
        for _ in range(50):
            await call(client, rules("POST", idempotency_header=KEY))

    run(scene())
    assert len(set(keys(upstream.requests))) == 50


@pytest.mark.usefixtures("secured_contract")
def test_the_idempotency_key_is_kept_after_a_rejected_token(make_client, run) -> None:
    api = SecuredApi(HttpResponse(401), GOOD)
    client = make_client(ENVIRON)
    client._send = api.send
    assert run(call(client, rules("POST", idempotency_header=KEY, **SECURED))) == 1
    first, second = keys(api.requests)
    assert first == second


def test_an_idempotency_key_supplied_by_the_call_is_used(make_client, upstream, run) -> None:
    upstream.outcomes = (BUSY, GOOD)
    parameter = {"in": "header", "name": KEY, "style": "simple"}
    contract = rules("POST", idempotency_header=KEY.lower(), parameters=[parameter])
    assert run(call(make_client(), contract, headers={KEY: "order-7"})) == 1
    assert keys(upstream.requests) == ["order-7", "order-7"]
    assert all(len(each.headers) == 1 for each in upstream.requests)


@pytest.mark.parametrize("header", ["Host", "Content-Length", "Bad Name", "X\r\nY", "Cookie"])
def test_an_invalid_idempotency_header_is_rejected_at_load(header) -> None:
    with pytest.raises(Exception, match="header"):
        rules("POST", idempotency_header=header)


# -- origins ---------------------------------------------------------------------------------------

A, B = "https://a.example", "https://b.example"


def at(url: str, **more: Any) -> RequestRules:
    return rules(servers=[{"url": url}], **more)


def test_a_failing_api_does_not_stop_calls_of_another_api(make_client, run) -> None:
    asked: list[str] = []

    async def send(request: HttpRequest) -> HttpResponse:
        asked.append(request.url)
        return BUSY if request.url.startswith(A) else GOOD

    client = make_client()
    client._send = send

    async def scene() -> None:
        for _ in range(30):
            with pytest.raises(UpstreamError):
                await call(client, at(f"{A}/v1"))
        with pytest.raises(OverloadedError, match="failed most of the latest calls"):
            await call(client, at(f"{A}/v2"))  # the same origin
        assert await call(client, at(B)) == 1

    run(scene())


def test_retries_of_one_api_do_not_use_the_budget_of_another(make_client, run) -> None:
    asked: list[str] = []

    async def send(request: HttpRequest) -> HttpResponse:
        asked.append(request.url)
        return BUSY

    client = make_client()
    client._send = send

    async def scene() -> None:
        for url in (A, A, A, B):
            with pytest.raises(UpstreamError):
                await call(client, at(url))

    run(scene())
    assert sum(url.startswith(B) for url in asked) == 3


def test_a_blocked_api_does_not_delay_calls_of_another_api(make_client, run) -> None:
    async def send(request: HttpRequest) -> HttpResponse:
        if request.url.startswith(A):
            await asyncio.Event().wait()
        return GOOD

    client = make_client()
    client._send = send

    async def scene() -> None:
        hanging = [asyncio.create_task(call(client, at(A))) for _ in range(400)]
        await asyncio.sleep(0.05)
        refused = [task for task in hanging if task.done()]
        assert len(refused) == 100
        assert all(isinstance(task.exception(), OverloadedError) for task in refused)
        assert await call(client, at(B)) == 1
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)
        assert client._limits.get(A).slots.is_idle

    run(scene())


def test_an_operation_has_at_most_its_own_number_of_calls_under_way(make_client, run) -> None:
    sent: list[str] = []
    is_sent, going_on = asyncio.Event(), asyncio.Event()

    async def send(request: HttpRequest) -> HttpResponse:
        sent.append(request.method)
        is_sent.set()
        await going_on.wait()
        return GOOD

    async def wait_for(method: str, count: int) -> None:
        async with asyncio.timeout(60):
            while sent.count(method) < count:
                is_sent.clear()
                await is_sent.wait()

    client = make_client()
    client._send = send

    async def scene() -> None:
        contract = rules("PUT", max_concurrent=2, timeout_seconds=60)
        calls = [asyncio.create_task(call(client, contract)) for _ in range(5)]
        await wait_for("PUT", 2)
        hurried = rules("PUT", max_concurrent=2, timeout_seconds=0.05)
        with pytest.raises(OverloadedError, match="`PUT /pets` was not sent"):
            await call(client, hurried)
        assert sent == ["PUT"] * 2
        other = asyncio.create_task(call(client, rules()))  # is not held up
        await wait_for("GET", 1)
        calls[0].cancel()
        await wait_for("PUT", 3)  # its slot goes to the next
        assert sent.count("PUT") == 3
        going_on.set()
        assert await asyncio.gather(other, *calls[1:]) == [1] * 5
        assert sent.count("PUT") == 5

    run(scene())


def test_waiting_in_the_queue_is_not_counted_as_a_failure(make_client, run) -> None:
    asked: list[str] = []

    async def send(request: HttpRequest) -> HttpResponse:
        asked.append(request.url)
        await asyncio.Event().wait()
        raise AssertionError

    client = make_client()
    client._send = send

    async def scene() -> None:
        slow = [asyncio.create_task(call(client, at(A, timeout_seconds=30))) for _ in range(100)]
        await asyncio.sleep(0.05)
        waiting = [call(client, at(A, timeout_seconds=0.05)) for _ in range(30)]
        errors = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(error) for error in errors} == {OverloadedError}
        assert "`GET /pets` was not sent" in str(errors[0])
        client._limits.get(A).circuit.check()
        for task in slow:
            task.cancel()
        await asyncio.wait(slow)
        client._limits.get(A).circuit.check()  # clients that leave say nothing about the API

    run(scene())
    assert len(asked) == 100


def test_a_timeout_counts_as_one_failure(make_client, run) -> None:
    async def send(request: HttpRequest) -> HttpResponse:
        await asyncio.Event().wait()
        raise AssertionError

    client = make_client(deadline_seconds=0.001)
    client._send = send

    async def scene() -> None:
        for _ in range(19):
            with pytest.raises(TimeoutExceededError):
                await call(client, rules())
        client._limits.get("https://petstore.example/v1").circuit.check()
        with pytest.raises(TimeoutExceededError):
            await call(client, rules())
        with pytest.raises(OverloadedError):
            await call(client, rules())

    run(scene())


@pytest.mark.parametrize("end", ["cancelled", "timeout", "refused"])
def test_a_probe_that_ends_early_does_not_block_the_circuit(
    make_client, environment, run, end
) -> None:
    is_healthy = False

    async def send(request: HttpRequest) -> HttpResponse:
        if is_healthy:
            return GOOD
        if environment.seconds:
            await asyncio.Event().wait()
        return BUSY

    client = make_client(deadline_seconds=0.05 if end == "timeout" else 60)
    client._send = send

    async def scene() -> None:
        nonlocal is_healthy
        for _ in range(20):
            with pytest.raises(UpstreamError):
                await call(client, rules("POST"))
        environment.seconds += 6
        probe = asyncio.create_task(call(client, rules()))
        await asyncio.sleep(0)
        if end == "refused":
            with pytest.raises(OverloadedError):
                await call(client, rules())
        if end != "timeout":
            probe.cancel()
        await asyncio.wait([probe])
        is_healthy = True
        environment.seconds += 6
        assert await call(client, rules()) == 1

    run(scene())


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://api.example/v1/pets?x=1", "https://api.example"),
        ("https://API.example:443/v2", "https://api.example"),
        ("http://api.example:80", "http://api.example"),
        ("http://api.example:443", "http://api.example:443"),
        ("https://user:pw@api.example:8443/x", "https://api.example:8443"),
        ("http://[::1]:80/x", "http://[::1]"),
    ],
)
def test_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_origins_are_bounded_and_idle_ones_are_evicted_first(run, monkeypatch) -> None:
    monkeypatch.setattr(resilience, "MAX_ORIGINS", 3)

    async def scene() -> None:
        limits = LimitsByOrigin(lambda: 0.0, lambda: 0.5)
        busy = limits.get(A)
        await busy.slots.acquire()
        others = [limits.get(f"https://{number}.example") for number in range(2)]
        assert limits.get("https://0.example") is others[0]
        limits.get(B)
        assert limits.get(A) is busy
        assert limits.get("https://0.example") is others[0]
        assert limits.get("https://1.example") is not others[1]

    run(scene())
