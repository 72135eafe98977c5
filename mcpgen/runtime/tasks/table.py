"""The tasks of a server in its store: records, leases of their owners, and messages about them."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from typing import Final

from msgspec.json import Decoder, Encoder
from msgspec.structs import replace

from mcpgen.runtime.errors import StoreUnavailableError
from mcpgen.runtime.state.store import Store
from mcpgen.runtime.tasks.record import TaskRecord

LEASE_SECONDS: Final = 10.0
"""Time for which an owner counts as alive after it renewed its lease."""
RENEWAL_SECONDS: Final = LEASE_SECONDS / 4
_GRACE_SECONDS: Final = 60.0  # for the clock of the store, which may be ahead
_MAX_JOBS: Final = 10_000  # that are looked through when a server starts
_MAX_JOB_BYTES: Final = 1024 * 1024
_CHANNEL: Final = "tasks:1"
_JOBS: Final = "task-jobs:1"
_SEPARATOR: Final = b" "

Change = Callable[[TaskRecord], TaskRecord | None]


class TaskTable:
    """The tasks of a server, as one of its processes sees them; `owner` names this process.

    A record changes only from what was read, so that of two processes that change it at the same
    time neither loses what the other has written. Every method raises `StoreUnavailableError`
    if the store does not answer.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self.owner = secrets.token_hex(8)
        self._store = store
        self._clock = clock
        self._encode = Encoder().encode
        self._decode = Decoder(TaskRecord).decode
        self._lease_ends_at = 0.0

    async def add(self, record: TaskRecord) -> None:
        """Store a new record, after a valid lease of its owner."""
        if self._clock() > self._lease_ends_at - LEASE_SECONDS / 2:
            await self.renew_lease()
        seconds = record.ttl_seconds + _GRACE_SECONDS
        await self._store.put(_record_key(record.id), self._encode(record), seconds)
        if record.job is not None:
            await self._store.append(
                _JOBS,
                record.id.encode(),
                ttl_seconds=seconds,
                max_entries=_MAX_JOBS,
                max_bytes=_MAX_JOB_BYTES,
            )

    async def find(self, task_id: str) -> TaskRecord | None:
        """Return a record; None if there is none or its time to live is over."""
        stored = await self._store.get(_record_key(task_id))
        return None if stored is None else self._read(stored)

    async def change(self, task_id: str, change: Change) -> TaskRecord | None:
        """Replace a record by the result of `change`, which is called again if another was faster.

        Return the new record; None if there is no record, or `change` returned None.
        """
        key = _record_key(task_id)
        while (stored := await self._store.get(key)) is not None:
            record = self._read(stored)
            changed = None if record is None else change(record)
            if changed is None:
                return None
            now = self._clock()
            changed = replace(changed, updated_at=max(now, changed.updated_at))
            seconds = max(changed.ends_at - now, 0.0) + _GRACE_SECONDS
            if await self._store.replace(key, stored, self._encode(changed), seconds):
                return changed
        return None

    async def delete(self, task_id: str) -> None:
        """Delete a record that was never announced."""
        await self._store.delete(_record_key(task_id))

    async def count_new(self, caller: str, window_seconds: float) -> int:
        """Count a new task of a caller; return how many it has begun in the present window."""
        return await self._store.count(f"tasks-of:1:{caller}", window_seconds)

    async def list_jobs(self) -> list[str]:
        """Return the ids of the newest tasks that another process can continue."""
        entries = await self._store.read_log(_JOBS, 0) or []
        return [value.decode() for _, value in entries]

    async def renew_lease(self) -> None:
        """Record that this process is alive."""
        now = self._clock()
        await self._store.put(_lease_key(self.owner), b"1", LEASE_SECONDS)
        self._lease_ends_at = now + LEASE_SECONDS

    async def drop_lease(self) -> None:
        """Record that this process runs no tasks any more."""
        if self._lease_ends_at:
            self._lease_ends_at = 0.0
            await self._store.delete(_lease_key(self.owner))

    async def is_alive(self, owner: str) -> bool:
        """Return whether a process has a valid lease."""
        return owner == self.owner or await self._store.get(_lease_key(owner)) is not None

    async def announce(self, task_id: str) -> None:
        """Notify the other processes that a record has changed; they may miss it."""
        with contextlib.suppress(StoreUnavailableError):
            await self._store.publish(_CHANNEL, f"{self.owner} {task_id}".encode())

    async def follow(self) -> AsyncGenerator[str, None]:
        """Yield the ids of records that other processes have changed."""
        async with contextlib.aclosing(self._store.subscribe((_CHANNEL,))) as messages:
            async for _, message in messages:
                owner, _, task_id = message.partition(_SEPARATOR)
                if owner != self.owner.encode():
                    yield task_id.decode()

    def _read(self, stored: bytes) -> TaskRecord | None:
        record = self._decode(stored)
        return record if self._clock() < record.ends_at else None


def _record_key(task_id: str) -> str:
    return f"task:1:{task_id}"


def _lease_key(owner: str) -> str:
    return f"task-owner:1:{owner}"
