"""Tests of token exchange in several processes: once per caller, never with another's token."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.connecting import World, account_of, generate_package
from tests.support.connecting_processes import HTTP, ConnectServer, running_servers
from tests.support.redis_server import RedisServer

BOUND_SECONDS = 180.0
pytestmark = pytest.mark.slow

Scenario = Callable[[World, list[ConnectServer]], Awaitable[None]]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_package(tmp_path_factory.mktemp("exchanging"), "exchange")


@contextmanager
def store_at(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of a store."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'state.db'}"
    else:
        with RedisServer(folder) as server:
            yield server.url


def read_files(folder: Path) -> bytes:
    """Return the content of the files of a SQLite store."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("state.db*")))


def observe(source: Path, state_url: str, scenario: Scenario) -> None:
    """Run a scenario against two processes that share a store."""

    async def bounded() -> None:
        settings = {"STATE_URL": state_url} if state_url else {}
        async with (
            asyncio.timeout(BOUND_SECONDS),
            running_servers(source, HTTP, HTTP, **settings) as (world, servers),
        ):
            await scenario(world, servers)

    asyncio.run(bounded())


async def call_often(world: World, users: list[str], count: int, tool: str = "list_pets") -> None:
    """Call as several users concurrently, alternating between both processes."""
    tokens = {user: world.token(user) for user in users}

    async def call(user: str) -> None:
        assert account_of(await world.call(user, tool, token=tokens[user])) == user

    await asyncio.gather(*(call(user) for user in users * count))


@pytest.mark.parametrize("kind", ["redis", "sqlite"])
def test_processes_with_a_store_exchange_a_callers_token_once(
    source: Path, tmp_path: Path, kind: str
) -> None:
    users = [f"user{number}" for number in range(7)]  # an odd number, for both processes

    async def scenario(world: World, servers: list[ConnectServer]) -> None:
        provider = world.provider
        await call_often(world, users, 20)
        assert sorted(provider.exchanges) == [(user, "read") for user in users]
        assert all(token.startswith(f"access-{who}-") for who, token in provider.calls)
        await call_often(world, users, 2, "add_pet")  # needs another scope
        assert Counter(provider.exchanges) == {
            (user, scope): 1 for user in users for scope in ("read", "write")
        }
        await servers[0].kill_and_start()
        await call_often(world, users, 2)
        assert len(provider.exchanges) == 2 * len(users)

    with store_at(kind, tmp_path) as url:
        observe(source, url, scenario)


def test_processes_without_a_store_exchange_it_once_each(source: Path) -> None:
    async def scenario(world: World, _: list[ConnectServer]) -> None:
        await call_often(world, ["ada"], 20)
        assert world.provider.exchanges == [("ada", "read")] * 2

    observe(source, "", scenario)


def test_a_token_that_the_api_refuses_is_replaced_once_for_all_processes(
    source: Path, tmp_path: Path
) -> None:
    async def scenario(world: World, _: list[ConnectServer]) -> None:
        provider = world.provider
        await call_often(world, ["ada"], 4)
        ((_, first),) = set(provider.calls)
        provider.refused.add(first)
        await call_often(world, ["ada"], 20)
        assert provider.exchanges == [("ada", "read")] * 2

    with store_at("sqlite", tmp_path) as url:
        observe(source, url, scenario)


def test_another_scope_of_the_callers_token_is_exchanged_on_its_own(
    source: Path, tmp_path: Path
) -> None:
    """A token with fewer rights must not get what was exchanged for one with more."""

    async def scenario(world: World, _: list[ConnectServer]) -> None:
        for scope in ("pets pets:admin", "pets", "pets:admin pets"):
            token = world.people.token(world.public_url, subject="ada", scope=scope)
            for _ in range(2):
                assert account_of(await world.call("ada", token=token)) == "ada"
        assert world.provider.exchanges == [("ada", "read")] * 2

    with store_at("sqlite", tmp_path) as url:
        observe(source, url, scenario)


def test_exchanged_tokens_in_the_store_are_encrypted(source: Path, tmp_path: Path) -> None:
    async def scenario(world: World, _: list[ConnectServer]) -> None:
        await call_often(world, ["ada"], 2)
        stored = read_files(tmp_path)
        assert b"exchanged:1:" in stored
        for secret in ("access-ada-1", "sub ada", world.people.identifier):
            assert secret.encode() not in stored

    with store_at("sqlite", tmp_path) as url:
        observe(source, url, scenario)


def test_tokens_are_exchanged_while_the_store_is_unavailable(source: Path, tmp_path: Path) -> None:
    async def scenario(world: World, _: list[ConnectServer]) -> None:
        await call_often(world, ["ada"], 2)
        server.stop()
        await call_often(world, ["ada", "bob"], 4)
        assert set(world.provider.exchanges) == {("ada", "read"), ("bob", "read")}
        server.start()
        await call_often(world, ["ada", "bob", "eve"], 4)

    server = RedisServer(tmp_path)
    with server:
        observe(source, server.url, scenario)
