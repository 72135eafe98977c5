"""The manifest: each row of requirements.tsv is held by a test, or does not apply, and why."""

from __future__ import annotations

import ast
import csv
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TABLE = TESTS.parents[1] / "shared" / "requirements.tsv"

pytestmark = pytest.mark.skipif(
    not TABLE.exists(), reason="shared/requirements.tsv is absent: the manifest is not checked"
)


def rows(prefix: str, first: int, last: int) -> list[str]:
    return [f"{prefix}{number:03}" for number in range(first, last + 1)]


NOT_APPLYING = {
    **dict.fromkeys(
        [*rows("L", 144, 157), *rows("N", 126, 134), "L047", "N037", "N136"],
        "authorization of the HTTP transport is a later issue; it is off, and nothing is declared",
    ),
    **dict.fromkeys(
        ["L033", "L039", *rows("L", 132, 143)],
        "experimental tasks of 2025-11-25 are not declared",
    ),
    **dict.fromkeys(["L027"], "the server sends no pings"),
    **dict.fromkeys(
        ["L076", "L093", "N086", "N107"],
        "who may call what is decided with authorization, a later issue",
    ),
    **dict.fromkeys(["L125", "L126"], "URL elicitation is asked as a request, never by -32042"),
    **dict.fromkeys(
        ["L127", "L128", "L129", "L130", "N119", "N121"],
        "the runtime opens no URL flow of its own; a handler's author chooses the URL",
    ),
    **dict.fromkeys(
        ["L114", "L115", "L117", "L118", "L119", "N124"],
        "the runtime starts no sampling of its own; a handler's author does",
    ),
    **dict.fromkeys(["L103", "N113"], "prompts are written by the server's author"),
    **dict.fromkeys(["L071", "L072", "N057"], "stdio and HTTP are the only transports over a wire"),
    **dict.fromkeys(["L090"], "which scheme a resource has is its author's choice"),
    **dict.fromkeys(["N028"], "there is no fetching of `$ref` to opt into"),
    **dict.fromkeys(["N024"], "no extension is built in"),
}

# Rows whose tests are still to be written; the transports' and the generator's first.
OPEN = {
    "L011", "L012", "L013", "L014", "L015", "L042", "L043", "L053", "L060", "L061", "L062",
    "L063", "L064", "L077", "L078", "L081", "L158", "N025", "N026", "N027", "N029", "N094", "N097",
}  # fmt: skip


@cache
def table() -> dict[str, str]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["requirement"] for row in csv.DictReader(file, delimiter="\t")}


@cache
def held() -> dict[str, list[str]]:
    """The tests of each row, read from the source of every test."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith(".requirement"):
                    for argument in mark.args:
                        name = f"{path.relative_to(TESTS)}::{node.name}"
                        found.setdefault(str(ast.literal_eval(argument)), []).append(name)
    return found


def test_no_test_names_a_row_that_does_not_exist() -> None:
    strangers = {row: tests for row, tests in held().items() if row not in table()}
    assert not strangers


def test_no_row_is_held_and_declared_not_to_apply() -> None:
    assert not NOT_APPLYING.keys() & held().keys()


def test_every_row_that_applies_is_held_by_a_test() -> None:
    assert NOT_APPLYING.keys() <= table().keys()
    accounted = held().keys() | NOT_APPLYING.keys() | OPEN
    missing = {row: text for row, text in table().items() if row not in accounted}
    lines = "\n".join(f"{row}  {text}" for row, text in missing.items())
    assert not missing, f"{len(missing)} of {len(table())} rows are held by no test:\n{lines}"
