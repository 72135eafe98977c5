"""Records of mcpgen's edits in the files of clients: for `remove`, with backups for `--undo`.

They are in the user's state folder, readable only by the user, since a client's file can contain
secrets.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from mcpgen.factory.clients.texts import Traces
from mcpgen.pipeline.project.disk import write_atomically
from mcpgen.runtime.state.state_folder import find_state_folder

_MAX_OPERATIONS: Final = 50


class Installed(Struct):
    """An entry that mcpgen wrote: the clients that read it, its text, and its inputs' ids."""

    clients: list[str]
    inserted: str = ""
    inputs: list[str] = field(default_factory=list)


class FileRecord(Struct):
    """The entries that mcpgen wrote into one file, and their traces in it."""

    path: str
    is_created: bool = False
    initial: str = ""  # the text that a created file had before its first entry
    created_folders: list[str] = field(default_factory=list)
    traces: Traces = field(default_factory=Traces)
    entries: dict[str, Installed] = field(default_factory=dict)


class Operation(Struct):
    """One command: each file that it changed, with its content before and after.

    `before` is None if the file did not exist; `after` is the SHA-256 of its new content, "" if it
    was deleted.
    """

    files: list[tuple[str, bytes | None, str]]
    records: dict[str, FileRecord | None]  # of these files, before the command


class _State(Struct):
    files: dict[str, FileRecord] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)


class RecordsError(Exception):
    """The records cannot be read or written."""


def hash_content(content: bytes | None) -> str:
    """Return the SHA-256 of a file's content, "" if the file does not exist."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


class Records:
    """The records of this user."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = (
            folder or find_state_folder("mcpgen", os.environ) / "clients"
        ) / "records.msgpack"
        try:
            self._state = msgspec.msgpack.decode(self._file.read_bytes(), type=_State)
        except FileNotFoundError:
            self._state = _State()
        except (OSError, msgspec.DecodeError) as error:
            raise RecordsError(f"cannot read {self._file}: {error}") from None

    def find(self, path: Path) -> FileRecord:
        """Return a copy of the record of a file; an empty one if there is none."""
        found = self._state.files.get(str(path))
        return _copy(found) if found is not None else FileRecord(str(path))

    @property
    def files(self) -> Sequence[FileRecord]:
        """The records of all files with entries."""
        return [*self._state.files.values()]

    @property
    def last(self) -> Operation | None:
        """The operation that can be undone."""
        return self._state.operations[-1] if self._state.operations else None

    def begin(self, operation: Operation, records: Sequence[FileRecord]) -> None:
        """Store the backups and the new records before any file is changed.

        Raises:
            RecordsError: they cannot be stored.
        """
        operation.records = {each.path: self._state.files.get(each.path) for each in records}
        if operation.files:
            self._state.operations = [*self._state.operations, operation][-_MAX_OPERATIONS:]
        for each in records:
            self._put(each.path, each)
        self._write()

    def end_undo(self) -> None:
        """Forget the last operation and restore the records before it.

        Raises:
            RecordsError: they cannot be stored.
        """
        operation = self._state.operations.pop()
        for path, record in operation.records.items():
            self._put(path, record)
        self._write()

    def _put(self, path: str, record: FileRecord | None) -> None:
        if record is not None and record.entries:
            self._state.files[path] = _copy(record)
        else:
            self._state.files.pop(path, None)

    def _write(self) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self._file, msgspec.msgpack.encode(self._state), mode=0o600)
        except OSError as error:
            raise RecordsError(f"cannot write {self._file}: {error.strerror}") from None


def _copy(record: FileRecord) -> FileRecord:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=FileRecord)
