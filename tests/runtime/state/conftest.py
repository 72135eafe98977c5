"""Stores of every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcpgen.runtime.state.open_store import open_store
from mcpgen.runtime.state.store import Store
from tests.support.redis_server import RedisServer

BACKENDS = ("memory", "sqlite", pytest.param("redis", marks=pytest.mark.slow))


@pytest.fixture(params=BACKENDS)
def state_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state.db'}"
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        server.run("FLUSHALL")
        return server.url
    return "memory:"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Run a Redis server that tests neither stop nor freeze."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def open_another(state_url: str) -> Callable[[], Store]:
    """Return a function that opens the store again, as a replica; in memory, it is the same."""
    stores: list[Store] = []

    def open_it() -> Store:
        if not stores or state_url != "memory:":
            stores.append(open_store(state_url, server="petstore"))
        return stores[-1]

    return open_it
