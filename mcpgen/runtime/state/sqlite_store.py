"""The store of the processes of one machine: `sqlite:///PATH`."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from mcpgen.runtime.state.channels import Channels
from mcpgen.runtime.state.sqlite_file import MAX_BYTES, describe_failure, open_file
from mcpgen.runtime.state.store import StoreUnavailableError

TIMEOUT_SECONDS: Final = 5.0  # of an operation; a lock of another process is reported earlier
MAX_WAITING: Final = 10_000  # operations
POLL_SECONDS: Final = 0.05  # between two looks for messages, while there are subscribers
MESSAGE_SECONDS: Final = 60.0  # how long a message is stored
_EXPIRY_SECONDS: Final = 1.0  # interval of the deletion of expired rows
_EXPIRED_ROWS: Final = 200  # that one search deletes, of each table
_POLLED_MESSAGES: Final = 500
_CLOSED: Final = "the state store is closed"

_Result = TypeVar("_Result")


class SqliteStore:
    """State in a file that several processes of one machine share.

    One thread works with the database, so that the event loop never waits for the disk or a lock.
    """

    def __init__(
        self,
        path: str,
        *,
        prefix: str = "",
        clock: Callable[[], float] = time.time,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Open the file.

        Raises:
            ConfigurationError: it cannot be used.
        """
        self._prefix = prefix
        self._clock = clock
        self._database = open_file(path, max_bytes=max_bytes)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mcpgen-state")
        self._waiting = 0
        self._expire_at = 0.0
        self._channels = Channels()
        self._poller: asyncio.Task[None] | None = None
        self._is_closed = False

    async def get(self, key: str) -> bytes | None:
        """Return a value."""

        def read() -> bytes | None:
            rows = self._database.execute(
                "SELECT value FROM entries WHERE key = ? AND expires_at > ?",
                (self._prefix + key, self._clock()),
            ).fetchall()
            return rows[0][0] if rows else None

        return await self._run(read)

    async def put(self, key: str, value: bytes, ttl_seconds: float) -> None:
        """Store a value."""
        await self._write(
            "INSERT INTO entries VALUES (:key, :value, :end) ON CONFLICT (key)"
            " DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
            key,
            ttl_seconds,
            value=value,
        )

    async def add(self, key: str, value: bytes, ttl_seconds: float) -> bool:
        """Store a value unless the key exists."""
        stored = await self._write(
            "INSERT INTO entries VALUES (:key, :value, :end) ON CONFLICT (key)"
            " DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at"
            " WHERE entries.expires_at <= :now RETURNING 1",
            key,
            ttl_seconds,
            value=value,
        )
        return bool(stored)

    async def replace(self, key: str, old: bytes, new: bytes, ttl_seconds: float) -> bool:
        """Store `new` if the value is `old`."""
        stored = await self._write(
            "UPDATE entries SET value = :new, expires_at = :end"
            " WHERE key = :key AND value = :old AND expires_at > :now RETURNING 1",
            key,
            ttl_seconds,
            old=old,
            new=new,
        )
        return bool(stored)

    async def take(self, key: str) -> bytes | None:
        """Return and delete a value."""
        rows = await self._write(
            "DELETE FROM entries WHERE key = :key AND expires_at > :now RETURNING value", key
        )
        return rows[0][0] if rows else None

    async def delete(self, *keys: str) -> None:
        """Delete values, logs and counters."""
        names = [(self._prefix + key,) for key in keys]

        def delete() -> None:
            with self._transaction():
                for table in ("entries", "counters", "logs", "log_entries"):
                    self._database.executemany(f"DELETE FROM {table} WHERE key = ?", names)  # noqa: S608  (a constant)

        if keys:
            await self._run(delete)

    async def delete_if(self, key: str, value: bytes) -> bool:
        """Delete a key that has this value."""
        deleted = await self._write(
            "DELETE FROM entries WHERE key = :key AND value = :value AND expires_at > :now"
            " RETURNING 1",
            key,
            value=value,
        )
        return bool(deleted)

    async def count(self, key: str, window_seconds: float, amount: int = 1) -> int:
        """Add to a counter."""
        rows = await self._write(
            "INSERT INTO counters VALUES (:key, :amount, :end) ON CONFLICT (key) DO UPDATE SET"
            " amount = iif(expires_at > :now, amount, 0) + excluded.amount,"
            " expires_at = iif(expires_at > :now, expires_at, excluded.expires_at)"
            " RETURNING amount",
            key,
            window_seconds,
            amount=amount,
        )
        return int(rows[0][0])

    async def append(
        self, log: str, value: bytes, *, ttl_seconds: float, max_entries: int, max_bytes: int
    ) -> int:
        """Append an entry to a log."""
        name = self._prefix + log

        def write() -> int:
            with self._transaction():
                now = self._clock()
                number, size = self._begin_entry(name, now)
                size += len(value)
                execute = self._database.execute
                execute("INSERT INTO log_entries VALUES (?, ?, ?)", (name, number, value))
                oldest = execute(
                    "SELECT number, length(value) FROM log_entries WHERE key = ? ORDER BY number",
                    (name,),
                )
                last_dropped = 0
                for at, length in oldest:
                    if at == number or (number - at < max_entries and size <= max_bytes):
                        break
                    size -= length
                    last_dropped = at
                oldest.close()
                execute(
                    "DELETE FROM log_entries WHERE key = ? AND number <= ?", (name, last_dropped)
                )
                execute(
                    "INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?)",
                    (name, number, size, now + ttl_seconds),
                )
            return number

        return await self._run(write, expires=True)

    async def read_log(self, log: str, after: int) -> list[tuple[int, bytes]] | None:
        """Return the stored entries above a number."""
        name = self._prefix + log

        def read() -> list[tuple[int, bytes]] | None:
            with self._transaction("BEGIN"):  # one state of both tables
                found = self._database.execute(
                    "SELECT 1 FROM logs WHERE key = ? AND expires_at > ?", (name, self._clock())
                ).fetchall()
                if not found:
                    return None
                return self._database.execute(
                    "SELECT number, value FROM log_entries WHERE key = ? AND number > ?"
                    " ORDER BY number",
                    (name, after),
                ).fetchall()

        return await self._run(read)

    async def publish(self, channel: str, message: bytes) -> None:
        """Store a message for the subscribers in all processes, which look for it."""
        await self._write(
            "INSERT INTO messages (channel, data, expires_at) VALUES (:key, :data, :end)",
            channel,
            MESSAGE_SECONDS,
            data=message,
        )

    async def subscribe(self, channels: Sequence[str]) -> AsyncGenerator[tuple[str, bytes], None]:
        """Yield the messages of channels."""
        self._check_open()
        messages = self._channels.subscribe(channels)
        try:
            if self._poller is None or self._poller.done():
                self._poller = asyncio.create_task(self._poll())
            async for message in messages:
                yield message
        finally:
            await messages.aclose()

    async def check(self) -> None:
        """Check that the file can be written."""

        def write() -> None:
            with self._transaction():
                self._database.execute("DELETE FROM entries WHERE key = ''")

        await self._run(write)

    async def aclose(self) -> None:
        """Finish the operations that have begun, and close the file; end subscriptions."""
        if self._is_closed:
            return
        self._is_closed = True
        self._channels.fail(_CLOSED)
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)
        closing = asyncio.get_running_loop().run_in_executor(self._thread, self._database.close)
        with contextlib.suppress(TimeoutError, sqlite3.Error):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await closing
        self._thread.shutdown(wait=False)

    # -- in the event loop ---------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreUnavailableError(_CLOSED)

    async def _write(
        self, statement: str, key: str, ttl_seconds: float = 0.0, **values: object
    ) -> list[Any]:
        """Run a statement with `:key`, `:now` and `:end`; return the rows that it returns."""

        def write() -> list[Any]:
            now = self._clock()
            values.update(key=self._prefix + key, now=now, end=now + ttl_seconds)
            with self._transaction():
                return self._database.execute(statement, values).fetchall()

        return await self._run(write, expires=True)

    async def _run(self, work: Callable[[], _Result], *, expires: bool = False) -> _Result:
        """Run `work` in the thread; delete expired rows first if that is due."""
        self._check_open()
        if self._waiting >= MAX_WAITING:
            raise StoreUnavailableError("too many operations wait for the state file")

        def run() -> _Result:
            if expires and self._clock() >= self._expire_at:
                self._expire()
            return work()

        self._waiting += 1
        try:
            done = asyncio.get_running_loop().run_in_executor(self._thread, run)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await done
        except TimeoutError:
            raise StoreUnavailableError(
                f"the state file did not answer within {TIMEOUT_SECONDS:g} s"
            ) from None
        except sqlite3.Error as error:
            raise StoreUnavailableError(f"the state file: {describe_failure(error)}") from None
        finally:
            self._waiting -= 1

    async def _poll(self) -> None:
        """Deliver messages while there are subscribers."""
        try:
            newest = await self._run(self._find_newest_message)
            polled_at = self._clock()
            while self._channels.has_subscribers:
                rows = await self._run(lambda after=newest: self._read_messages(after))  # type: ignore[misc]  # mypy infers no lambda with a default
                if not 0 <= self._clock() - polled_at < MESSAGE_SECONDS / 2:
                    self._channels.fail("the process was stopped, and messages were lost")
                polled_at = self._clock()
                for newest, channel, data in rows:  # noqa: B007  (the last one counts)
                    if channel.startswith(self._prefix):
                        self._channels.deliver(channel.removeprefix(self._prefix), data)
                if len(rows) < _POLLED_MESSAGES:
                    await asyncio.sleep(POLL_SECONDS)
        except StoreUnavailableError as error:
            self._channels.fail(str(error))

    # -- in the thread -------------------------------------------------------------------------

    @contextlib.contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Generator[None]:
        self._database.execute(begin)
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # SQLite ends it itself when the disk is full
                self._database.execute("ROLLBACK")
            raise

    def _expire(self) -> None:
        """Delete some expired rows; more of them follow with the next write."""
        now, deleted = self._clock(), 0
        execute = self._database.execute
        with self._transaction():
            for table in ("entries", "counters", "messages"):
                deleted = max(
                    deleted,
                    execute(
                        f"DELETE FROM {table} WHERE rowid IN"  # noqa: S608  (a constant)
                        f" (SELECT rowid FROM {table} WHERE expires_at <= ? LIMIT ?)",
                        (now, _EXPIRED_ROWS),
                    ).rowcount,
                )
            expired = execute(
                "SELECT key FROM logs WHERE expires_at <= ? LIMIT ?", (now, _EXPIRED_ROWS)
            ).fetchall()
            for table in ("logs", "log_entries"):
                self._database.executemany(f"DELETE FROM {table} WHERE key = ?", expired)  # noqa: S608  (a constant)
        has_more = max(deleted, len(expired)) >= _EXPIRED_ROWS
        self._expire_at = now if has_more else now + _EXPIRY_SECONDS

    def _begin_entry(self, name: str, now: float) -> tuple[int, int]:
        """Return the number of a log's next entry and its present bytes; forget an expired log."""
        rows = self._database.execute(
            "SELECT last, bytes, expires_at FROM logs WHERE key = ?", (name,)
        ).fetchall()
        if not rows:
            return 1, 0
        last, size, expires_at = rows[0]
        if expires_at > now:
            return last + 1, size
        self._database.execute("DELETE FROM log_entries WHERE key = ?", (name,))
        return 1, 0

    def _find_newest_message(self) -> int:
        (newest,) = self._database.execute("SELECT max(id) FROM messages").fetchone()
        return newest or 0

    def _read_messages(self, after: int) -> list[Any]:
        return self._database.execute(
            "SELECT id, channel, data FROM messages WHERE id > ? ORDER BY id LIMIT ?",
            (after, _POLLED_MESSAGES),
        ).fetchall()
