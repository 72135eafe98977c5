"""The lock: readable, mergeable, the same on every machine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mcpgen.emit.lock import (
    Lock,
    LockedDocument,
    LockedFile,
    LockUnreadableError,
    dump_lock,
    parse_lock,
)
from mcpgen.ir.file_set import Owner

LOCK = Lock(
    mcpgen="0.4.0",
    toolchain={"ruff": "1", "copier": "2"},
    document=LockedDocument(
        "https://x.example/openapi.yaml", "openapi.yaml", {"openapi.yaml": "a"}
    ),
    manifest="b",
    answers="c",
    files={
        "src/b.py": LockedFile(Owner.GENERATED, "1"),
        "README.md": LockedFile(Owner.MERGED, "2"),
    },
    operations={"GET /b": "get_b", "DELETE /a": "delete_a"},
)


def test_what_was_written_is_read_back() -> None:
    assert parse_lock(dump_lock(LOCK)) == LOCK


def test_the_order_of_its_maps_does_not_matter() -> None:
    turned = replace(LOCK, files=dict(reversed(LOCK.files.items())))
    assert dump_lock(turned) == dump_lock(LOCK)


def test_a_file_and_an_operation_take_a_line_each() -> None:
    lines = dump_lock(LOCK).decode().splitlines()
    assert '    "README.md": {"class": "merged", "sha256": "2"},' in lines
    assert '    "DELETE /a": {"tool": "delete_a"},' in lines


def test_an_empty_project_has_a_lock_too() -> None:
    empty = replace(LOCK, files={}, operations={})
    assert parse_lock(dump_lock(empty)) == empty


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not what mcpgen writes"),
        (b"[]", "not what mcpgen writes"),
        (b"{}", "not what mcpgen writes"),
        (b"\xff\xfe", "not what mcpgen writes"),
        (dump_lock(LOCK).replace(b'"class": "merged"', b'"class": "mine"'), "not what mcpgen"),
        (b"<<<<<<< ours\n" + dump_lock(LOCK), "conflict markers"),
        (json.dumps({"lock_version": 99, "mcpgen": "9.0"}).encode(), "mcpgen 9.0, which is newer"),
    ],
)
def test_anything_else_is_refused_with_its_reason(content: bytes, said: str) -> None:
    with pytest.raises(LockUnreadableError, match=said):
        parse_lock(content)
