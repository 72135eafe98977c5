"""A store in memory for several replicas in one process that a test can stop and start."""

from __future__ import annotations

import asyncio
from typing import Any

from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.store import StoreUnavailableError


class StoppableStore:
    """A store that behaves like one on a network, and does not answer while it is stopped."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.is_available = True

    def stop(self) -> None:
        """Stop answering, and drop all subscribers."""
        self.is_available = False
        self._store._channels.fail("the test has stopped it")

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._store, name)
        if name == "subscribe":
            self._check()
            return operation

        async def operate(*arguments: Any, **named: Any) -> Any:
            await asyncio.sleep(0)
            self._check()
            return await operation(*arguments, **named)

        return operate

    def _check(self) -> None:
        if not self.is_available:
            raise StoreUnavailableError("the test has stopped it")
