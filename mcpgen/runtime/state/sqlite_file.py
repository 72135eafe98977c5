"""The file of the store in SQLite: creation, schema and checks."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Final

from mcpgen.runtime.errors import ConfigurationError

SCHEMA_VERSION: Final = 1
MAX_BYTES: Final = 1024 * 1024 * 1024
BUSY_SECONDS: Final = 3.0
_APPLICATION_ID: Final = 0x6D637067  # "mcpg"
_NETWORK_TYPES: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "fuse.sshfs", "fuse.glusterfs"}
)
_EXPIRING: Final = ("entries", "counters", "logs", "messages")
_SCHEMA: Final = """
CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE counters (key TEXT PRIMARY KEY, amount INTEGER NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE logs (key TEXT PRIMARY KEY, last INTEGER NOT NULL, bytes INTEGER NOT NULL,
    expires_at REAL NOT NULL);
CREATE TABLE log_entries (key TEXT NOT NULL, number INTEGER NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (key, number));
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL,
    data BLOB NOT NULL, expires_at REAL NOT NULL)
"""
_CAUSES: Final = {
    "SQLITE_BUSY": "another process has locked it",
    "SQLITE_LOCKED": "another process has locked it",
    "SQLITE_FULL": "it has reached its largest size, or the disk is full",
    "SQLITE_READONLY": "it or its folder cannot be written",
    "SQLITE_CANTOPEN": "it or its folder cannot be opened",
    "SQLITE_PERM": "it cannot be opened",
    "SQLITE_IOERR": "the disk cannot be read or written",
    "SQLITE_CORRUPT": "it is damaged; delete it, and start again",
    "SQLITE_NOTADB": "it is not a SQLite database",
}


def describe_failure(error: sqlite3.Error) -> str:
    """Return why SQLite failed, without a value or statement."""
    name = getattr(error, "sqlite_errorname", "") or ""
    primary = "_".join(name.split("_")[:2])
    return _CAUSES.get(primary, name or type(error).__name__)


def open_file(path: str, *, max_bytes: int = MAX_BYTES) -> sqlite3.Connection:
    """Open the database, for any thread; create it with mode 600 if it does not exist.

    Raises:
        ConfigurationError: it cannot be used; the message states why.
    """
    _check_file_system(path)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        mode = os.fstat(descriptor).st_mode
        os.close(descriptor)
    except OSError as error:
        hint = (
            "" if path.startswith("/") else "; an absolute path has four slashes: sqlite:////PATH"
        )
        raise ConfigurationError(
            f"the state file {path} cannot be opened for writing: {error.strerror}{hint}"
        ) from None
    if os.name == "posix" and mode & stat.S_IRWXO:
        raise ConfigurationError(
            f"any user of this machine can open the state file {path}: run `chmod o= {path}`"
        )
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        _set_up(connection, path, max_bytes)
    except (sqlite3.Error, ConfigurationError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, ConfigurationError):
            raise
        cause = describe_failure(error)
        raise ConfigurationError(f"the state file {path} cannot be used: {cause}") from None
    return connection


def _set_up(connection: sqlite3.Connection, path: str, max_bytes: int) -> None:
    if _use_write_ahead_log(connection) != "wal":
        raise ConfigurationError(
            f"the state file {path} cannot be used: its file system does not support a"
            " write-ahead log; choose a local disk"
        )
    # A process that is killed loses nothing; a power failure may lose the last second.
    connection.execute("PRAGMA synchronous = NORMAL")
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute(f"PRAGMA max_page_count = {max(max_bytes // page_size, 32)}")
    connection.execute("PRAGMA journal_size_limit = 16777216")
    connection.execute("BEGIN IMMEDIATE")  # several processes may start at the same time
    try:
        _create_schema(connection, path)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _use_write_ahead_log(connection: sqlite3.Connection) -> str:
    """Return the journal mode; SQLite does not wait while another process changes it."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return str(mode)
        except sqlite3.OperationalError as error:
            is_busy = (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_BUSY")
            if not is_busy or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _create_schema(connection: sqlite3.Connection, path: str) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables == 0 and version == 0:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        for table in _EXPIRING:
            connection.execute(f"CREATE INDEX {table}_expiry ON {table} (expires_at)")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    elif application_id != _APPLICATION_ID:
        raise ConfigurationError(f"{path} is a database of another program")
    elif version != SCHEMA_VERSION:
        raise ConfigurationError(
            f"the state file {path} has version {version}, and this server needs version"
            f" {SCHEMA_VERSION}; set another path"
        )


def _check_file_system(path: str) -> None:
    """Reject network file systems: the processes of two machines would damage the file."""
    found = find_file_system(path, Path("/proc/self/mounts"))
    if found in _NETWORK_TYPES:
        raise ConfigurationError(
            f"the state file {path} is on a network file system ({found}), where SQLite is not"
            " safe; choose a local disk, or valkey:// for several machines"
        )


def find_file_system(path: str, mounts: Path) -> str:
    """Return the type of the file system of a path; "" if the system does not list mounts."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    folder = os.path.realpath(os.path.dirname(path) or ".")  # noqa: PTH120  (`path` is text)
    longest, found = "", ""
    for line in lines:
        _, point, kind, *_ = line.split(" ", 3)
        point = point.replace("\\040", " ")
        is_above = folder == point or folder.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(longest):
            longest, found = point, kind
    return found
