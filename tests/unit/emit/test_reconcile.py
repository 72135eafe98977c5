"""Tests of the changes of a run, by the file's owner, the lock and the disk."""

from __future__ import annotations

import json

import pytest

from mcpgen.emit.lockfile import LockedFile, sha256
from mcpgen.emit.merge.merge import BASE_FILE
from mcpgen.emit.reconcile import Changes, Earlier, format_diff, reconcile
from mcpgen.ir.file_set import Owner, PlannedFile

OLD, NEW, MINE = b"old\n", b"new\n", b"mine\n"


def run(owner: Owner | None, *, locked: bytes | None, disk: bytes | None, **more: bool) -> Changes:
    """Reconcile one file `f`; `owner` is None if the run no longer generates it."""
    planned = () if owner is None else (PlannedFile("f", NEW, owner),)
    lock = {} if locked is None else {"f": LockedFile(owner or Owner.GENERATED, sha256(locked))}
    lost = more.pop("is_lock_lost", False)
    base = b'{"f": ["old", ""]}' if locked else b"{}"
    on_disk = {BASE_FILE: base}
    lock[BASE_FILE] = LockedFile(Owner.GENERATED, sha256(base))
    if disk is not None:
        on_disk["f"] = disk
    return reconcile(planned, Earlier(lock, is_lock_lost=lost), on_disk.get, **more)


def written(changes: Changes) -> list[str]:
    return [file.path for file in changes.written if file.path != BASE_FILE]


@pytest.mark.parametrize("owner", list(Owner))
def test_a_new_file_is_written(owner: Owner) -> None:
    changes = run(owner, locked=None, disk=None)
    assert written(changes) == ["f"]
    assert changes.files["f"] == LockedFile(owner, sha256(NEW))


@pytest.mark.parametrize("owner", list(Owner))
@pytest.mark.parametrize("locked", [None, OLD, NEW])
def test_a_current_file_is_not_written(owner: Owner, locked: bytes | None) -> None:
    assert written(run(owner, locked=locked, disk=NEW)) == []


@pytest.mark.parametrize("owner", [Owner.GENERATED, Owner.MERGED])
def test_an_unedited_file_is_updated(owner: Owner) -> None:
    assert written(run(owner, locked=OLD, disk=OLD)) == ["f"]


def test_a_deleted_generated_file_is_restored() -> None:
    assert written(run(Owner.GENERATED, locked=OLD, disk=None)) == ["f"]


@pytest.mark.parametrize("owner", [Owner.MERGED, Owner.OWNED])
def test_a_file_deleted_by_the_user_is_not_restored(owner: Owner) -> None:
    changes = run(owner, locked=OLD, disk=None)
    assert written(changes) == []
    assert "f" in changes.files


@pytest.mark.parametrize("owner", [Owner.MERGED, Owner.OWNED])
def test_an_absent_file_is_not_restored_without_a_lock(owner: Owner) -> None:
    planned = (PlannedFile("f", NEW, owner),)
    assert written(reconcile(planned, Earlier(is_lock_lost=True), {}.get)) == []


@pytest.mark.parametrize("owner", [Owner.GENERATED, Owner.MERGED])
def test_converted_line_ends_are_not_an_edit(owner: Owner) -> None:
    changes = run(owner, locked=OLD, disk=b"old\r\n")
    assert (written(changes), changes.hand_edits, changes.rescued) == (["f"], (), {})


@pytest.mark.parametrize("locked", [OLD, None])
def test_a_hand_edit_of_a_generated_file_is_reported_with_a_diff(locked: bytes | None) -> None:
    [edit] = run(Owner.GENERATED, locked=locked, disk=MINE).hand_edits
    assert edit.path == "f"
    assert edit.diff.splitlines()[-2:] == ["-new", "+mine"]


def test_force_keeps_a_copy_of_a_hand_edit_and_overwrites_it() -> None:
    changes = run(Owner.GENERATED, locked=OLD, disk=MINE, overwrite=True)
    contents = {file.path: file.content for file in changes.written}
    assert contents[".mcpgen/rescued/f.txt"] == MINE
    assert contents["f"] == NEW
    assert ".mcpgen/rescued/f.txt" not in changes.files


@pytest.mark.parametrize(
    ("there", "place"),
    [(b"older\n", ".mcpgen/rescued/f.2.txt"), (MINE, None)],
    ids=["another copy", "the same copy"],
)
def test_a_rescued_copy_does_not_overwrite_an_earlier_copy(there: bytes, place: str | None) -> None:
    disk = {"f": MINE, ".mcpgen/rescued/f.txt": there}
    planned = (PlannedFile("f", NEW, Owner.GENERATED),)
    changes = reconcile(planned, Earlier(), disk.get, overwrite=True)
    assert written(changes) == [*([place] if place else []), "f"]


def test_a_conflict_keeps_the_users_text_and_offers_the_new_one() -> None:
    changes = run(Owner.MERGED, locked=OLD, disk=MINE)
    contents = {file.path: file.content for file in changes.written if file.path != BASE_FILE}
    assert contents == {".mcpgen/conflicts/f": NEW}
    assert [unmerged.offered for unmerged in changes.unmerged] == [".mcpgen/conflicts/f"]
    assert changes.files["f"].sha256 == sha256(NEW), "it is told once"


def test_a_user_file_at_the_path_of_a_new_file_is_kept_and_reported() -> None:
    changes = run(Owner.MERGED, locked=None, disk=MINE)
    assert (written(changes), changes.in_the_way) == ([], ("f",))


@pytest.mark.parametrize("locked", [None, OLD])
def test_an_owned_file_is_never_changed_again(locked: bytes | None) -> None:
    changes = run(Owner.OWNED, locked=locked, disk=MINE)
    assert (written(changes), changes.hand_edits, changes.unmerged) == ([], (), ())


def test_an_unedited_obsolete_file_is_deleted() -> None:
    changes = run(None, locked=OLD, disk=OLD)
    assert changes.deleted == ("f",)
    assert "f" not in changes.files


def test_an_edited_obsolete_file_is_kept_and_reported() -> None:
    changes = run(None, locked=OLD, disk=MINE)
    assert (changes.deleted, changes.orphans_kept) == ((), ("f",))


def test_a_file_that_is_not_in_the_lock_is_not_deleted() -> None:
    assert run(None, locked=None, disk=MINE).deleted == ()


def test_an_owned_file_is_not_deleted_as_obsolete() -> None:
    lock = {"handlers/a.py": LockedFile(Owner.OWNED, sha256(OLD))}
    assert reconcile((), Earlier(lock), {"handlers/a.py": OLD}.get).deleted == ()


def test_the_base_contains_only_merged_files() -> None:
    files = (
        PlannedFile("a.py", b"x\n", Owner.GENERATED),
        PlannedFile("b.md", b"one\ntwo\n", Owner.MERGED),
    )
    changes = reconcile(files, Earlier(), {}.get)
    [base] = [file for file in changes.written if file.path == BASE_FILE]
    assert json.loads(base.content) == {"b.md": ["one", "two", ""]}


@pytest.mark.parametrize("lost", [None, b"", b"<<<<<<< HEAD", b"[]"])
def test_a_missing_base_is_restored_from_the_skeleton_with_the_recorded_hash(
    lost: bytes | None,
) -> None:
    """The base must have this hash: the most similar skeleton is another one here."""
    new, old, other = ("title\none\ntwo\nend\n", "title\ntwo\nend\n", "title\nmine\nend\n")
    disk = {"f.md": b"title\ntwo\nmine\nend\n"} | ({} if lost is None else {BASE_FILE: lost})
    locked = {"f.md": LockedFile(Owner.MERGED, sha256(old.encode()))}
    shipped = [(PlannedFile("f.md", text.encode(), Owner.MERGED),) for text in (new, old, other)]
    changes = reconcile(shipped[0], Earlier(locked, skeletons=lambda: shipped), disk.get)
    assert {file.path: file.content for file in changes.written} == {
        BASE_FILE: b'{\n "f.md": [\n  "title",\n  "one",\n  "two",\n  "end",\n  ""\n ]\n}\n',
        "f.md": b"title\none\ntwo\nmine\nend\n",
    }


def test_older_skeletons_are_rendered_only_if_the_base_is_missing() -> None:
    def never() -> list[tuple[PlannedFile, ...]]:
        raise AssertionError

    disk = {"f": MINE, BASE_FILE: b'{"f": ["old", ""]}'}
    earlier = Earlier({"f": LockedFile(Owner.MERGED, sha256(OLD))}, skeletons=never)
    assert reconcile((PlannedFile("f", NEW, Owner.MERGED),), earlier, disk.get, overwrite=True)


def test_a_diff_of_binary_content_is_one_line() -> None:
    diff = format_diff("a.whl", b"PK\0\n" * 100, b"PK\0\r\n" * 100, ("mcpgen", "on disk"))
    assert diff == "Binary files a.whl (mcpgen) and a.whl (on disk) differ"
