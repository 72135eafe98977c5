"""What a run changes, by owner, lock and disk."""

from __future__ import annotations

import json

import pytest

from mcpgen.emit.lock import LockedFile, sha256
from mcpgen.emit.reconcile import BASE_FILE, Changes, reconcile
from mcpgen.ir.file_set import Owner, PlannedFile

OLD, NEW, MINE = b"old\n", b"new\n", b"mine\n"


def run(
    owner: Owner | None, *, locked: bytes | None, disk: bytes | None, force: bool = False
) -> Changes:
    """Reconcile one file `f`; `owner` None means that the run no longer makes it."""
    planned = () if owner is None else (PlannedFile("f", NEW, owner),)
    lock = {} if locked is None else {"f": LockedFile(owner or Owner.GENERATED, sha256(locked))}
    on_disk = {} if disk is None else {"f": disk}
    return reconcile(planned, lock, on_disk.get, force=force)


def written(changes: Changes) -> list[str]:
    return [file.path for file in changes.written if file.path != BASE_FILE]


@pytest.mark.parametrize("owner", list(Owner))
def test_a_file_that_never_was_is_written(owner: Owner) -> None:
    changes = run(owner, locked=None, disk=None)
    assert written(changes) == ["f"]
    assert changes.files["f"] == LockedFile(owner, sha256(NEW))


@pytest.mark.parametrize("owner", list(Owner))
@pytest.mark.parametrize("locked", [None, OLD, NEW])
def test_a_file_that_is_as_it_should_be_is_not_written(owner: Owner, locked: bytes | None) -> None:
    assert written(run(owner, locked=locked, disk=NEW)) == []


@pytest.mark.parametrize("owner", [Owner.GENERATED, Owner.MERGED])
def test_an_untouched_file_is_brought_up_to_date(owner: Owner) -> None:
    assert written(run(owner, locked=OLD, disk=OLD)) == ["f"]


def test_a_deleted_generated_file_comes_back() -> None:
    assert written(run(Owner.GENERATED, locked=OLD, disk=None)) == ["f"]


@pytest.mark.parametrize("owner", [Owner.MERGED, Owner.OWNED])
def test_what_the_user_deleted_stays_deleted(owner: Owner) -> None:
    changes = run(owner, locked=OLD, disk=None)
    assert written(changes) == []
    assert changes.files["f"].sha256 == sha256(OLD)


@pytest.mark.parametrize("locked", [OLD, None])
def test_a_hand_edit_of_a_generated_file_is_found_and_shown(locked: bytes | None) -> None:
    [edit] = run(Owner.GENERATED, locked=locked, disk=MINE).hand_edits
    assert edit.path == "f"
    assert edit.diff.splitlines()[-2:] == ["-new", "+mine"]


def test_force_keeps_a_copy_of_a_hand_edit_and_overwrites_it() -> None:
    changes = run(Owner.GENERATED, locked=OLD, disk=MINE, force=True)
    contents = {file.path: file.content for file in changes.written}
    assert contents[".mcpgen/rescued/f.txt"] == MINE
    assert contents["f"] == NEW
    assert ".mcpgen/rescued/f.txt" not in changes.files


def test_a_merged_file_with_edits_is_left_alone_and_said_so() -> None:
    changes = run(Owner.MERGED, locked=OLD, disk=MINE)
    assert (written(changes), changes.left_alone) == ([], ("f",))
    assert changes.files["f"].sha256 == sha256(OLD)


@pytest.mark.parametrize("locked", [None, OLD])
def test_an_owned_file_is_never_touched_again(locked: bytes | None) -> None:
    changes = run(Owner.OWNED, locked=locked, disk=MINE)
    assert (written(changes), changes.hand_edits, changes.left_alone) == ([], (), ())


def test_an_untouched_orphan_is_deleted() -> None:
    changes = run(None, locked=OLD, disk=OLD)
    assert changes.deleted == ("f",)
    assert "f" not in changes.files


def test_an_edited_orphan_is_kept_and_said_so() -> None:
    changes = run(None, locked=OLD, disk=MINE)
    assert (changes.deleted, changes.orphans_kept) == ((), ("f",))


def test_what_the_lock_does_not_list_is_never_deleted() -> None:
    assert run(None, locked=None, disk=MINE).deleted == ()


def test_an_owned_file_is_no_orphan() -> None:
    lock = {"handlers/a.py": LockedFile(Owner.OWNED, sha256(OLD))}
    assert reconcile((), lock, {"handlers/a.py": OLD}.get).deleted == ()


def test_the_base_has_the_lines_of_merged_files_and_no_others() -> None:
    files = (
        PlannedFile("a.py", b"x\n", Owner.GENERATED),
        PlannedFile("b.md", b"one\ntwo\n", Owner.MERGED),
    )
    changes = reconcile(files, {}, {}.get)
    [base] = [file for file in changes.written if file.path == BASE_FILE]
    assert json.loads(base.content) == {"b.md": ["one", "two", ""]}


def test_the_base_of_a_file_left_alone_stays_what_it_was() -> None:
    old_base = json.dumps({"f": ["old", ""]}, indent=1, sort_keys=True).encode() + b"\n"
    locked = {
        "f": LockedFile(Owner.MERGED, sha256(OLD)),
        BASE_FILE: LockedFile(Owner.GENERATED, sha256(old_base)),
    }
    disk = {"f": MINE, BASE_FILE: old_base}
    changes = reconcile((PlannedFile("f", NEW, Owner.MERGED),), locked, disk.get)
    assert changes.is_empty
