"""The table in README.md is true: each item has its tests, and each test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
README = (HERE / "README.md").read_text()


def test_each_item_has_a_module_named_for_it() -> None:
    rows = re.findall(r"^\| (\d+) \| .* \| `test_item_(\d+)_\w+\.py`", README, re.MULTILINE)
    assert [(int(item), int(module)) for item, module in rows] == [(n, n) for n in range(1, 13)]


def test_what_the_tables_name_exists() -> None:
    named = re.findall(r"`([\w./]+\.py)(?:::(\w+))?`", README)
    missing = [
        (path, test)
        for path, test in named
        if not (HERE / path).is_file() or f"def {test}" not in (HERE / path).read_text()
    ]
    assert len(named) > 20
    assert missing == []
