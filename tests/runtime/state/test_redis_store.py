"""Tests of the Valkey or Redis store while its server is stopped, frozen, full or refusing."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.state import redis_store
from mcpgen.runtime.state.open_store import open_store
from mcpgen.runtime.state.redis_store import RedisStore
from mcpgen.runtime.state.store import StoreUnavailableError
from tests.support.certificates import make_key_pair
from tests.support.paths import REPOSITORY
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 60.0
Scenario = Callable[[RedisStore], Coroutine[Any, Any, None]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Run a Redis server that tests may stop."""
    with RedisServer(tmp_path) as running:
        yield running


def run(url: str, scenario: Scenario, *, prefix: str = "petstore:") -> None:
    async def scene() -> None:
        store = RedisStore(url, prefix=prefix)
        try:
            await asyncio.wait_for(scenario(store), PATIENCE_SECONDS)
        finally:
            await store.aclose()

    asyncio.run(scene())


async def wait_until_ready(store: RedisStore) -> None:
    while True:
        try:
            await store.check()
        except StoreUnavailableError:
            await asyncio.sleep(0.01)
        else:
            return


async def read_all(store: RedisStore, received: list[bytes]) -> None:
    async for _, message in store.subscribe(["all"]):
        received.append(message)


async def subscribe(store: RedisStore, received: list[bytes]) -> asyncio.Task[None]:
    """Subscribe; return once messages arrive."""
    task = asyncio.create_task(read_all(store, received))
    while not received:
        await store.publish("all", b"hello")
        await asyncio.sleep(0.005)
    return task


# -- unavailable ---------------------------------------------------------------------------------


def test_a_stopped_server_is_reported_and_used_again_after_its_restart(
    server: RedisServer,
) -> None:
    async def scenario(store: RedisStore) -> None:
        await asyncio.gather(*(store.put(f"key:{it}", b"1", 600) for it in range(100)))
        await store.append("log", b"1", ttl_seconds=600, max_entries=9, max_bytes=99)
        server.stop()
        for _ in range(3):
            with pytest.raises(StoreUnavailableError, match="cannot be reached"):
                await store.get("key:1")
        server.start()
        await wait_until_ready(store)
        # Every connection of the pool, and the scripts that the server has forgotten.
        found = await asyncio.gather(*(store.get(f"key:{it}") for it in range(100)))
        assert set(found) == {b"1"}
        assert await store.append("log", b"2", ttl_seconds=9, max_entries=9, max_bytes=99) == 2
        assert await store.take("key:1") == b"1"

    run(server.url, scenario)


def test_a_frozen_server_ends_commands_in_bounded_time(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_store, "TIMEOUT_SECONDS", 0.5)

    async def scenario(store: RedisStore) -> None:
        await wait_until_ready(store)
        server.freeze()
        commands = [store.count("calls", 60) for _ in range(200)]
        started = time.monotonic()
        failures = await asyncio.gather(*commands, return_exceptions=True)
        seconds = time.monotonic() - started
        assert {type(it) for it in failures} == {StoreUnavailableError}
        assert {str(it) for it in failures} == {"the state store did not answer within 0.5 s"}
        assert seconds < 5 * 5  # for 200 commands; a slower machine included
        server.thaw()
        await wait_until_ready(store)
        await store.put("a", b"1", 60)
        assert await store.get("a") == b"1"  # and not the answer to an earlier command

    run(server.url, scenario)


def test_commands_fail_at_once_while_the_server_is_known_to_be_gone(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(store: RedisStore) -> None:
        server.stop()
        attempts = 0
        connect = store._client.get

        async def get(*arguments: Any) -> Any:
            nonlocal attempts
            attempts += 1
            return await connect(*arguments)

        monkeypatch.setattr(store._client, "get", get)
        monkeypatch.setattr(redis_store, "_MIN_BACKOFF_SECONDS", 1000.0)
        monkeypatch.setattr(redis_store, "MAX_BACKOFF_SECONDS", 1000.0)
        for _ in range(50):
            with pytest.raises(StoreUnavailableError, match="cannot be reached"):
                await store.get("a")
        assert attempts == 1

    run(server.url, scenario)


@pytest.mark.parametrize("fault", ["stop", "freeze"])
def test_a_subscription_ends_when_messages_may_have_been_lost(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(redis_store, "HEARTBEAT_SECONDS", 0.3)
    monkeypatch.setattr(redis_store, "TIMEOUT_SECONDS", 1.0)

    async def scenario(store: RedisStore) -> None:
        received: list[bytes] = []
        task = await subscribe(store, received)
        await asyncio.wait([task], timeout=1.0)  # several heartbeats without a message
        assert not task.done()
        getattr(server, fault)()
        with pytest.raises(StoreUnavailableError):
            await task
        if fault == "stop":
            server.start()
        else:
            server.thaw()
        await wait_until_ready(store)
        received.clear()
        task = await subscribe(store, received)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(server.url, scenario)
    assert len(server.run("CLIENT", "LIST").splitlines()) <= 3 if fault == "stop" else True


def test_a_full_server_refuses_values_with_the_cause(tmp_path: Path) -> None:
    with RedisServer(tmp_path, "--maxmemory", "3mb") as server:

        async def scenario(store: RedisStore) -> None:
            async def fill() -> None:
                for number in range(100):
                    await store.put(f"key:{number}", b"x" * 100_000, 600)

            with pytest.raises(StoreUnavailableError, match=r"it is full \(maxmemory\)"):
                await fill()
            assert await store.take("key:0") == b"x" * 100_000

        run(server.url, scenario)


# -- connection ----------------------------------------------------------------------------------


def test_a_password_is_used_and_never_shown(tmp_path: Path) -> None:
    with RedisServer(tmp_path, password="s3cret-word") as server:

        async def scenario(store: RedisStore) -> None:
            await store.put("a", b"1", 60)
            assert await store.get("a") == b"1"

        async def refused(store: RedisStore) -> None:
            with pytest.raises(StoreUnavailableError) as caught:
                await store.get("a")
            assert str(caught.value) == "the state store: it requires another user name or password"

        run(server.url, scenario)
        run(server.url.replace("redis:", "valkey:"), scenario)
        run(server.url.replace("s3cret", "wrong"), refused)
        run(server.url.replace(":s3cret-word@", ""), refused)


def test_a_user_needs_the_documented_commands_and_no_others(server: RedisServer) -> None:
    page = (REPOSITORY / "docs/reference/state.md").read_text()
    (paragraph,) = re.findall(r"- The user may run (.*?)\.\n", page, re.DOTALL)
    commands = [f"+{it.lower().replace(' ', '|')}" for it in re.findall(r"`([^`]+)`", paragraph)]
    server.run("ACL", "SETUSER", "petstore", "on", ">word", "~petstore:*", "&petstore:*", *commands)

    async def scenario(store: RedisStore) -> None:
        await store.put("a", b"1", 60)
        assert await store.add("b", b"1", 60)
        assert await store.replace("a", b"1", b"2", 60)
        assert await store.delete_if("a", b"2")
        assert await store.take("b") == b"1"
        assert await store.count("c", 60) == 1
        for _ in range(2):
            await store.append("l", b"1", ttl_seconds=60, max_entries=1, max_bytes=9)
        assert await store.read_log("l", 0) == [(2, b"1")]
        await store.delete("c")
        task = await subscribe(store, [])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.check()

    run(server.url.replace("redis://", "redis://petstore:word@"), scenario)


def test_tls_is_used_and_the_certificate_is_checked(tmp_path: Path) -> None:
    certificate, key = make_key_pair().write(tmp_path)
    server = RedisServer(tmp_path)
    server.use_tls(certificate, key)
    with server:

        async def scenario(store: RedisStore) -> None:
            assert await store.add("a", b"1", 60)

        async def refused(store: RedisStore) -> None:
            with pytest.raises(StoreUnavailableError, match="cannot be reached"):
                await store.get("a")

        trusting = f"{server.url}?ssl_ca_certs={certificate}"
        run(trusting.replace("rediss:", "valkeys:"), scenario)
        run(server.url, refused)
        assert "127.0.0.1" in trusting
        run(trusting.replace("127.0.0.1", "127.0.0.2"), refused)  # not in the certificate
        run(server.url.replace("rediss:", "redis:"), refused)


def test_commands_share_a_bounded_number_of_connections(server: RedisServer) -> None:
    async def scenario(store: RedisStore) -> None:
        await asyncio.gather(*(store.count("calls", 60) for _ in range(1000)))
        clients = server.run("CLIENT", "LIST").count(b" addr=")
        assert clients <= redis_store.MAX_CONNECTIONS + 1

    run(server.url, scenario)
    assert server.run("CLIENT", "LIST").count(b" addr=") == 1  # who asks


def test_a_cancellation_that_the_client_library_loses_ends_the_command(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(PATIENCE_SECONDS)
        return "PONG"  # as `asyncio.wait_for` of Python 3.11 does, if the answer is there

    async def scenario(store: RedisStore) -> None:
        monkeypatch.setattr(store._client, "ping", lose)
        checking = asyncio.create_task(store.check())
        await asyncio.sleep(0)
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking
        monkeypatch.undo()
        await store.check()

    run(server.url, scenario)


@pytest.mark.parametrize(
    "url",
    [
        "redis://",
        "redis://:hunter2@",
        "redis://:hunter2@host:port",
        "redis://:hunter2@host:0",
        "redis://:hunter2@host/name",
        "redis://:hunter2@[::1",
        "redis://:hunter2@host?socket_timeout=hunter2",
        "rediss://:hunter2@host?ssl_check_hostname=no&retry=hunter2",
        "redis:hunter2",
        "sqlite://hunter2",
        "sqlite:///",
        "postgres://hunter2",
        "memory:hunter2",
        "",
    ],
)
def test_an_invalid_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)


# -- what is stored ------------------------------------------------------------------------------


def test_everything_that_is_stored_expires_and_has_the_name_of_the_server(
    server: RedisServer,
) -> None:
    async def scenario(store: RedisStore) -> None:
        await store.put("put", b"1", 600)
        await store.add("add", b"1", 600)
        await store.replace("put", b"1", b"2", 600)
        for _ in range(2):
            await store.count("count", 600)
            await store.append("log", b"1", ttl_seconds=600, max_entries=9, max_bytes=99)
        await store.publish("all", b"1")
        names = set(server.run("KEYS", "*").split()[2::2])
        assert names == {
            b"petstore:v:put",
            b"petstore:v:add",
            b"petstore:c:count",
            b"petstore:l:log",
        }
        for name in names:
            assert 590_000 < int(server.run("PTTL", name.decode())[1:]) <= 600_000

    run(server.url, scenario)


def test_servers_and_databases_are_separated(server: RedisServer) -> None:
    async def scenario(store: RedisStore) -> None:
        received: list[bytes] = []
        task = await subscribe(store, received)
        await store.put("a", b"1", 60)
        for url, prefix in ((server.url, "other:"), (server.url[:-1] + "1", "petstore:")):
            other = RedisStore(url, prefix=prefix)
            assert await other.get("a") is None
            await other.publish("all", b"from another")
            await other.aclose()
        await store.publish("all", b"last")
        while b"last" not in received:  # noqa: ASYNC110  (of another process)
            await asyncio.sleep(0.005)
        assert b"from another" not in received
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(server.url, scenario)
