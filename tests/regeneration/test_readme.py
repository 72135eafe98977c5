"""Tests that README.md lists every module of this folder, and that the tests it names exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
README = (HERE / "README.md").read_text()


def test_every_module_is_listed() -> None:
    modules = {path.name for path in HERE.glob("test_*.py")}
    assert modules == set(re.findall(r"`(test_\w+\.py)(?=[`:])", README))


def test_every_named_test_exists() -> None:
    named = re.findall(r"`([\w./]+\.py)(?:::(\w+))?`", README)
    missing = [
        (path, test)
        for path, test in named
        if not (HERE / path).is_file() or f"def {test}" not in (HERE / path).read_text()
    ]
    assert len(named) > 20
    assert missing == []
