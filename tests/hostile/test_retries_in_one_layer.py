"""Tests that requests are repeated only by the retry policy, and by no layer below it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.attack.api import Behaviour, Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import (
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    configure,
    generate,
    serve_http,
)

MANIFEST = """
operations:
  getOnce: {retry: {attempts: 1}}
"""
METHODS = ("get", "post", "put")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {
        "/once": {"get": operation("getOnce")},
        "/things": {method: operation(f"{method}Thing") for method in METHODS},
    }
    project = generate(tmp_path_factory.mktemp("retries"), api_document(paths))
    configure(project, MANIFEST)
    return project


@pytest.fixture
def fresh_server(project: Path, api: HostileApi) -> Iterator[AttackedServer]:
    """Start a server without earlier retries, since retries are limited to a share of requests."""
    with serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        yield server


async def close(exchange: Exchange) -> None:
    exchange.writer.close()
    raise ConnectionError


async def reset(exchange: Exchange) -> None:
    exchange.writer.transport.abort()
    raise ConnectionError


async def close_within_the_head(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    await close(exchange)


async def close_within_the_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{")
    await close(exchange)


FAULTS = [close, reset, close_within_the_head, close_within_the_body]


def requests_of(server: AttackedServer, api: HostileApi, tool: str, path: str) -> int:
    """Call a tool on a kept connection while a second client is served; count its requests."""
    before = api.requests[path]
    with Bystander(server) as bystander, HttpClient(server.port) as client:
        result = client.call_tool(tool, {})["result"]
        bystander.wait_until_served()
    bystander.check()
    assert result["isError"]
    return api.requests[path] - before


@pytest.mark.parametrize("fault", FAULTS)
def test_a_tool_with_one_attempt_sends_one_request(
    server: AttackedServer, api: HostileApi, fault: Behaviour
) -> None:
    api.on("/once", fault)
    assert requests_of(server, api, "get_once", "/once") == 1


@pytest.mark.parametrize("fault", [close, reset])
def test_a_failing_call_sends_three_requests_by_default(
    fresh_server: AttackedServer, api: HostileApi, fault: Behaviour
) -> None:
    api.on("/things", fault)
    assert requests_of(fresh_server, api, "get_thing", "/things") == 3


def test_a_put_is_repeated_and_a_post_is_not(fresh_server: AttackedServer, api: HostileApi) -> None:
    api.on("/things", reset)
    assert requests_of(fresh_server, api, "post_thing", "/things") == 1
    assert requests_of(fresh_server, api, "put_thing", "/things") == 3


def test_a_connection_closed_while_idle_does_not_count_as_an_attempt(
    server: AttackedServer, api: HostileApi
) -> None:
    """A closed connection that is noticed before anything is sent is replaced without a retry."""

    is_closed = threading.Event()

    async def answer_and_close(exchange: Exchange) -> None:
        await exchange.answer({})
        exchange.writer.close()
        await exchange.writer.wait_closed()
        is_closed.set()
        raise ConnectionError

    api.on("/once", answer_and_close)
    api.on("/things", answer_and_close)
    before = api.requests["/once"] + api.requests["/things"]
    with HttpClient(server.port) as client:
        for _ in range(10):
            for tool in ("get_once", "post_thing"):
                assert not client.call_tool(tool, {})["result"].get("isError")
                assert is_closed.wait(10)
                is_closed.clear()
    assert api.requests["/once"] + api.requests["/things"] - before == 20
