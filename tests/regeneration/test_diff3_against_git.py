"""Tests that random merges equal those of `git merge-file` wherever git finds no conflict."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from mcpgen.emit.merge.diff3 import diff3, is_clean, join

CASES = 10_000
# One shell runs git for half of the cases: starting 10,000 processes from here would take longer.
EVERY_SECOND = """
case=$1
while [ "$case" -lt "$2" ]; do
    git merge-file -p -q $case.yours $case.base $case.ours > $case.merged
    echo $? > $case.conflicts
    case=$((case + 2))
done
"""


def make_case(seed: int) -> dict[str, list[str]]:
    """Return a base text and two edits of it, with many or few repeated lines."""
    choose = random.Random(seed)
    lines = [f"line {number}" for number in range(choose.choice([2, 3, 5, 10, 40, 200]))]
    base = [choose.choice(lines) for _ in range(choose.randint(0, 24))]
    return {"base": base, "yours": edited(base, lines, choose), "ours": edited(base, lines, choose)}


def edited(base: list[str], lines: list[str], choose: random.Random) -> list[str]:
    text = list(base)
    for _ in range(choose.randint(0, 3)):
        at, length = choose.randint(0, len(text)), choose.randint(0, 3)
        text[at : at + length] = [choose.choice(lines) for _ in range(choose.randint(0, 3))]
    return text


def as_text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
def test_clean_merges_are_identical_to_those_of_git(tmp_path: Path) -> None:
    cases = [make_case(seed) for seed in range(CASES)]
    for number, case in enumerate(cases):
        for side, lines in case.items():
            (tmp_path / f"{number}.{side}").write_text(as_text(lines))
    halves = [
        subprocess.Popen(["sh", "-c", EVERY_SECOND, "sh", str(start), str(CASES)], cwd=tmp_path)
        for start in (0, 1)
    ]
    assert [half.wait() for half in halves] == [0, 0]

    clean_in_both = only_git = 0
    for number, case in enumerate(cases):
        pieces = diff3(case["base"], case["yours"], case["ours"])
        if (tmp_path / f"{number}.conflicts").read_text() == "0\n":
            if is_clean(pieces):
                clean_in_both += 1
                merged = (tmp_path / f"{number}.merged").read_text()
                assert as_text(join(pieces, lambda _: ())) == merged, case
            else:
                only_git += 1
    assert clean_in_both > CASES // 2
    # mcpgen reports more conflicts than git, but it must not do so for simple merges.
    assert only_git < clean_in_both // 3
