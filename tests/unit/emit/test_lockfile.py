"""Tests of the lock file: readable, mergeable, the same on every machine."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from mcpgen.emit.lockfile import (
    LeftOut,
    Lock,
    LockedDocument,
    LockedFile,
    LockTooNewError,
    LockUnreadableError,
    dump_lock,
    parse_lock,
    recover_lock,
    sha256,
    with_lf,
)
from mcpgen.ir.file_set import Owner, PlannedFile

LOCK = Lock(
    mcpgen="0.6.0",
    toolchain={"ruff": "1", "copier": "2"},
    documents=(
        LockedDocument(
            "https://x.example/openapi.yaml",
            {"openapi.yaml": "a"},
            "openapi.yaml",
            name="",
            settings="",
        ),
    ),
    manifest="b",
    answers="c",
    files={
        "src/b.py": LockedFile(Owner.GENERATED, "1"),
        "README.md": LockedFile(Owner.MERGED, "2"),
    },
    operations={"openapi.yaml GET /b": "get_b", "openapi.yaml DELETE /a": "delete_a"},
)


def test_a_lock_records_operations_without_a_tool() -> None:
    left_out = {"GET /x": LeftOut("off", "`expose: off` in `operations`")}
    lock = replace(LOCK, left_out=left_out)
    assert parse_lock(dump_lock(lock)) == lock
    assert recover_lock(dump_lock(lock)).operations == LOCK.operations
    assert b"left_out" not in dump_lock(LOCK)  # so that locks without any stay as they are


def test_a_written_lock_is_parsed_back_unchanged() -> None:
    assert parse_lock(dump_lock(LOCK)) == LOCK


def test_several_documents_and_overlays_are_read_back_and_recovered() -> None:
    other = LockedDocument(
        "crm.yaml",
        {"crm.yaml": "d"},
        "crm.yaml",
        "e1",
        name="crm",
        settings="CRM_",
        credentials={"Key": "SHOP_CRM_KEY"},
    )
    lock = replace(LOCK.with_document("crm.yaml", other), overlays={"mend.yaml": "f"})
    content = dump_lock(lock)
    assert parse_lock(content) == lock
    assert lock.inputs == {"openapi.yaml": "a", "crm.yaml": "d", "mend.yaml": "f"}
    torn = content.replace(b'  "files"', b'<<<<<<< ours\n  "files"')
    assert [found.root for found in recover_lock(torn).documents] == ["crm.yaml", "openapi.yaml"]


def test_the_order_of_maps_does_not_affect_the_lock() -> None:
    turned = replace(LOCK, files=dict(reversed(LOCK.files.items())))
    assert dump_lock(turned) == dump_lock(LOCK)


def test_each_file_and_operation_is_on_one_line() -> None:
    lines = dump_lock(LOCK).decode().splitlines()
    assert '    "README.md": {"class": "merged", "sha256": "2"},' in lines
    assert '    "openapi.yaml DELETE /a": {"tool": "delete_a"},' in lines


def test_the_lock_of_an_empty_project_is_valid() -> None:
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
    ],
)
def test_an_invalid_lock_is_rejected_with_its_reason(content: bytes, said: str) -> None:
    with pytest.raises(LockUnreadableError, match=said):
        parse_lock(content)


WHOLE = json.loads(dump_lock(LOCK))
OF_ANOTHER_TYPE = [None, 1, "x", True, [], ["x"], {"x": 1}, {"x": {"x": 1}}]


def spoilt_locks() -> Iterator[bytes]:
    """Yield the lock with each of its values replaced by values of other types."""
    for path in places(WHOLE):
        for other in OF_ANOTHER_TYPE:
            lock = copy.deepcopy(WHOLE)
            holder = lock
            for key in path[:-1]:
                holder = holder[key]
            if type(holder[path[-1]]) is not type(other):
                holder[path[-1]] = other
                yield json.dumps(lock).encode()


def places(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, entry in value.items() if isinstance(value, dict) else ():
        yield (*path, key)
        yield from places(entry, (*path, key))


def test_a_value_of_another_type_makes_the_lock_unreadable() -> None:
    spoilt = list(spoilt_locks())
    assert len(spoilt) > 100
    for content in spoilt:
        with pytest.raises(LockUnreadableError):
            parse_lock(content)


def test_recovered_values_have_the_correct_types() -> None:
    for content in spoilt_locks():
        lines = json.dumps(json.loads(content), indent=0).encode()
        recovered = recover_lock(b"<<<<<<< ours\n" + lines)
        assert set(recovered.operations.values()) <= {"get_b", "delete_a"}
        assert {each.root for each in recovered.documents} <= {"openapi.yaml"}


def test_a_lock_of_a_hundred_thousand_brackets_is_unreadable() -> None:
    brackets = b"[" * 100_000
    with pytest.raises(LockUnreadableError):
        parse_lock(brackets)
    assert recover_lock(brackets).files == {}


def test_a_newer_lock_is_rejected_with_and_without_conflict_markers() -> None:
    newer = json.dumps({"lock_version": 99, "mcpgen": "9.0"}, indent=1).encode()
    with pytest.raises(LockTooNewError, match=r"mcpgen 9\.0, which is newer"):
        parse_lock(newer)
    with pytest.raises(LockTooNewError, match="newer mcpgen"):
        recover_lock(b"<<<<<<< HEAD\n" + dump_lock(LOCK) + b"=======\n" + newer)


def test_both_sides_of_a_lock_with_merge_conflicts_are_recovered() -> None:
    mine = replace(LOCK, files={"a.py": LockedFile(Owner.GENERATED, sha256(b"mine"))})
    theirs = replace(
        LOCK,
        files={"a.py": LockedFile(Owner.GENERATED, sha256(b"theirs"))},
        operations={"openapi.yaml GET /b": "another", "openapi.yaml GET /c": "get_c"},
    )
    markers = (b"<<<<<<< HEAD\n", b"=======\n", b">>>>>>> feature\n")
    conflict = b"".join((markers[0], dump_lock(mine), markers[1], dump_lock(theirs), markers[2]))
    found = recover_lock(conflict)
    assert found.files["a.py"].is_untouched(b"mine")
    assert found.files["a.py"].is_untouched(b"theirs")
    assert not found.files["a.py"].is_untouched(b"neither")
    assert found.operations == {
        "openapi.yaml GET /b": "get_b",
        "openapi.yaml DELETE /a": "delete_a",
        "openapi.yaml GET /c": "get_c",
    }
    assert [each.source for each in found.documents] == ["https://x.example/openapi.yaml"]


def test_a_missing_or_invalid_lock_recovers_to_an_empty_lock() -> None:
    assert (recover_lock(None).files, recover_lock(b"junk").operations) == ({}, {})


def test_only_files_that_no_run_has_made_with_this_content_are_new() -> None:
    same, other = (
        PlannedFile(path, b"1\n", Owner.GENERATED) for path in ("same.json", "other.json")
    )
    lock = Lock(files={"same.json": LockedFile(Owner.GENERATED, sha256(b"1\n"))})
    changed = PlannedFile("same.json", b"2\n", Owner.GENERATED)
    assert list(lock.find_new((same, other))) == [other]
    assert list(lock.find_new((changed, other))) == [changed, other]


def test_a_hash_ignores_the_line_ends_of_text() -> None:
    assert sha256(b"a\r\nb\r\n") == sha256(b"a\nb\n") != sha256(b"a\nb")


def test_a_hash_of_binary_content_includes_every_byte() -> None:
    content = b"PK\x03\x04\x00a\nb"
    converted = content.replace(b"\n", b"\r\n")
    assert sha256(converted) != sha256(content)
    assert with_lf(converted) == converted
