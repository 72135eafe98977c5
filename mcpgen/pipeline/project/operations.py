"""The operations of a project's documents, as its lock records them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from mcpgen.emit.lockfile import by_operation_key
from mcpgen.pipeline.project.input_hashes import ProjectFiles

_EXCLUDED: Final = frozenset({"not-selected", "off"})
_DECLARED: Final = "tool:"


class RecordedOperation(Struct, frozen=True):
    """An operation, and its tool or why it has none."""

    key: str  # "GET /pets/{petId}"
    tool: str = ""
    reason: str = ""
    is_excluded: bool = False  # by the manifest


def iterate_operations(files: ProjectFiles) -> Iterator[RecordedOperation]:
    """Yield the operations that the last `generate` found, those with a tool first.

    Tools that the manifest declares are none. Without a readable lock there are none.

    Raises:
        OSError: the lock cannot be read.
    """
    lock = files.lock
    if lock is None:
        return
    names = {each.root: each.name or "" for each in lock.documents}
    for key, tool in by_operation_key(lock.operations, names).items():
        if not key.startswith(_DECLARED):
            yield RecordedOperation(key, tool)
    for key, skipped in lock.left_out.items():
        yield RecordedOperation(key, "", skipped.reason, skipped.code in _EXCLUDED)
