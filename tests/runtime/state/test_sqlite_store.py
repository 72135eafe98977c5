"""Tests of the file of the SQLite store: permissions, damage, and size."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.state import sqlite_file, sqlite_store
from mcpgen.runtime.state.sqlite_file import find_file_system, open_file
from mcpgen.runtime.state.sqlite_store import SqliteStore
from mcpgen.runtime.state.store import StoreUnavailableError

Scenario = Callable[[SqliteStore], Coroutine[Any, Any, None]]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def run(path: Path, scenario: Scenario, **options: Any) -> None:
    async def scene() -> None:
        store = SqliteStore(str(path), **options)
        try:
            await scenario(store)
        finally:
            await store.aclose()

    asyncio.run(scene())


def count_rows(path: Path) -> dict[str, int]:
    tables = ("entries", "counters", "logs", "log_entries", "messages")
    with sqlite3.connect(path) as database:
        found = {it: database.execute(f"SELECT count(*) FROM {it}").fetchone()[0] for it in tables}
    database.close()
    return found


# -- the file ------------------------------------------------------------------------------------


def test_only_its_user_can_read_the_file(path: Path) -> None:
    umask = os.umask(0)
    try:

        async def scenario(store: SqliteStore) -> None:
            await store.put("a", b"1", 60)
            modes = {it.name: it.stat().st_mode & 0o777 for it in path.parent.iterdir()}
            assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}

        run(path, scenario)
    finally:
        os.umask(umask)


def test_state_outlives_its_process(path: Path) -> None:
    async def write(store: SqliteStore) -> None:
        await store.put("a", b"1", 60)
        await store.count("a", 60, 7)

    async def read(store: SqliteStore) -> None:
        assert await store.get("a") == b"1"
        assert await store.count("a", 60) == 8

    run(path, write)
    run(path, read)


def test_servers_with_other_names_share_a_file_but_no_key_or_channel(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        other = SqliteStore(str(path), prefix="other:")
        await store.put("a", b"1", 60)
        assert await other.get("a") is None
        messages = store.subscribe(["all"])
        first = asyncio.create_task(anext(messages))
        while not first.done():
            await other.publish("all", b"other")
            await store.publish("all", b"own")
            await asyncio.sleep(0.005)
        assert await first == ("all", b"own")
        await messages.aclose()
        await other.aclose()

    run(path, scenario, prefix="one:")


def test_processes_that_start_together_create_one_schema(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        for database in threads.map(lambda _: open_file(str(path)), range(8)):
            database.close()
    assert set(count_rows(path).values()) == {0}


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"hello " * 1000, "not a SQLite database"),
        (b"SQLite format 3\0" + b"\xff" * 5000, "not a SQLite database|damaged"),
    ],
)
def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes, cause: str) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigurationError, match=f"state.db cannot be used: it is .*({cause})"):
        open_file(str(path))
    assert path.read_bytes() == content


def test_a_file_that_is_damaged_later_fails_with_the_cause(path: Path) -> None:
    async def write(store: SqliteStore) -> None:
        for number in range(500):
            await store.put(f"key:{number}", b"x" * 100, 60)

    run(path, write)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))

    async def read(store: SqliteStore) -> None:
        with pytest.raises(StoreUnavailableError, match="it is damaged; delete it"):
            await store.get("key:7")

    run(path, read)


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (a)")
    database.close()
    path.chmod(0o600)
    with pytest.raises(ConfigurationError, match="is a database of another program"):
        open_file(str(path))


def test_a_file_of_another_version_is_refused(path: Path) -> None:
    open_file(str(path)).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(ConfigurationError, match="has version 2, and this server needs version 1"):
        open_file(str(path))


def test_a_missing_folder_is_reported_with_the_form_of_absolute_paths() -> None:
    with pytest.raises(ConfigurationError, match="No such file or directory; an absolute path has"):
        open_file("var/lib/missing/state.db")
    with pytest.raises(ConfigurationError, match=r"No such file or directory$"):
        open_file("/var/lib/missing/state.db")


def test_a_folder_in_place_of_the_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="opened for writing: Is a directory"):
        open_file(str(tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o604, 0o602, 0o666])
def test_a_file_that_every_user_can_open_is_rejected(path: Path, mode: int) -> None:
    path.touch(mode=0o600)
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match=r"any user of this machine .* `chmod o= "):
        open_file(str(path))
    path.chmod(0o660)  # a group may share it
    open_file(str(path)).close()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    with pytest.raises(ConfigurationError, match="opened for writing: Permission denied"):
        open_file(str(folder / "state.db"))


def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\n"
        "server:/export /mnt/my\\040share nfs4 rw 0 0\n"
        "tmpfs /mnt/my\\040share/local tmpfs rw 0 0\n"
    )
    assert find_file_system("/mnt/my share/a/state.db", mounts) == "nfs4"
    assert find_file_system("/mnt/my share/local/state.db", mounts) == "tmpfs"
    assert find_file_system("/mnt/my shared/state.db", mounts) == "ext4"
    assert find_file_system("/state.db", tmp_path / "missing") == ""


def test_a_network_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "find_file_system", lambda *_: "nfs4")
    with pytest.raises(ConfigurationError, match=r"network file system \(nfs4\)"):
        open_file(str(path))
    assert not path.exists()


# -- other processes -----------------------------------------------------------------------------


def test_a_lock_of_another_process_ends_an_operation_in_bounded_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)

    async def scenario(store: SqliteStore) -> None:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="another process has locked it"):
            await store.put("a", b"1", 60)
        with pytest.raises(StoreUnavailableError, match="another process has locked it"):
            await store.check()
        assert await store.get("a") is None  # who only reads needs no lock
        other.execute("ROLLBACK")
        other.close()
        await store.put("a", b"1", 60)
        await store.check()

    run(path, scenario)


def test_the_event_loop_runs_while_the_file_is_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "TIMEOUT_SECONDS", 0.05)

    async def scenario(store: SqliteStore) -> None:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(StoreUnavailableError, match=r"did not answer within 0\.05 s"):
            await store.put("a", b"1", 60)
        assert time.monotonic() - started < sqlite_file.BUSY_SECONDS  # of the thread
        other.execute("ROLLBACK")
        other.close()

        async def put() -> bool:
            try:
                await store.put("a", b"1", 60)
            except StoreUnavailableError:
                return False
            return True

        while not await put():  # noqa: ASYNC110  (of another process)
            await asyncio.sleep(0.005)

    run(path, scenario)


# -- sizes ---------------------------------------------------------------------------------------


def test_a_full_file_refuses_values_until_others_expire(path: Path) -> None:
    clock = Clock()

    async def scenario(store: SqliteStore) -> None:
        async def fill() -> None:
            for number in range(1000):
                await store.put(f"key:{number}", b"x" * 10_000, 60)

        with pytest.raises(StoreUnavailableError, match="largest size, or the disk is full"):
            await fill()
        assert await store.get("key:0") == b"x" * 10_000
        with pytest.raises(StoreUnavailableError, match="largest size"):
            await store.append(
                "log", b"x" * 10_000, ttl_seconds=60, max_entries=9, max_bytes=99_999
            )
        clock.now += 60
        await store.put("new", b"x" * 10_000, 60)
        assert await store.get("new") == b"x" * 10_000

    run(path, scenario, clock=clock, max_bytes=1_000_000)
    assert path.stat().st_size <= 1_000_000


def test_expired_rows_are_deleted_a_few_at_a_time(path: Path) -> None:
    clock = Clock()

    async def scenario(store: SqliteStore) -> None:
        for number in range(450):
            await store.put(f"key:{number}", b"", 10)
            await store.count(f"key:{number}", 10)
            await store.publish("all", b"")
            log = f"log:{number}"
            await store.append(log, b"x", ttl_seconds=10, max_entries=9, max_bytes=9)
        assert set(count_rows(path).values()) == {450}
        clock.now += 100
        left = []
        for _ in range(4):
            await store.put("last", b"", 10)
            left.append(sum(count_rows(path).values()))
        assert left == [250 * 5 + 1, 50 * 5 + 1, 1, 1]

    run(path, scenario, clock=clock)


def test_a_subscriber_of_a_stopped_process_learns_that_messages_were_lost(path: Path) -> None:
    clock = Clock()

    async def scenario(store: SqliteStore) -> None:
        messages = store.subscribe(["all"])
        first = asyncio.create_task(anext(messages))
        while not first.done():
            await store.publish("all", b"first")
            await asyncio.sleep(0.005)
        clock.now += sqlite_store.MESSAGE_SECONDS

        async def read_all() -> None:
            async for _ in messages:
                pass

        with pytest.raises(StoreUnavailableError, match="messages were lost"):
            await read_all()

    run(path, scenario, clock=clock)
