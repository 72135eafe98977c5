"""Tests that a file is replaced completely or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.pipeline.project import disk as replacing
from mcpgen.pipeline.project.disk import write_atomically


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.sh"
    file.write_text("old")
    file.chmod(0o750)
    write_atomically(file, b"new")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o750)
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    file = tmp_path / "a.sh"
    file.write_text("old")
    monkeypatch.setattr(replacing.shutil, "copymode", refuse)
    with pytest.raises(PermissionError):
        write_atomically(file, b"new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
