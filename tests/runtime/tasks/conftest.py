"""Stores that several processes share."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.runtime.state.open_store import open_store
from mcpgen.runtime.state.store import Store
from tests.runtime.state.conftest import redis_server as redis_server  # the fixture
from tests.support.redis_server import RedisServer


class SharedStores:
    """A store that is opened repeatedly, as by each of several processes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: list[Store] = []

    def open(self) -> Store:
        """Open the store."""
        self._opened.append(open_store(self._url))
        return self._opened[-1]

    async def close(self) -> None:
        """Close all connections to the store."""
        for store in self._opened:
            await store.aclose()


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.slow)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> SharedStores:
    """Return an empty store that processes share."""
    if request.param == "sqlite":
        return SharedStores(f"sqlite:///{tmp_path / 'tasks.db'}")
    server: RedisServer = request.getfixturevalue("redis_server")
    server.run("FLUSHALL")
    return SharedStores(server.url)
