"""Tests that function names begin with a verb, and not with a participle or a gerund."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.paths import REPOSITORY

PACKAGE = REPOSITORY / "mcpgen"
IRREGULAR = frozenset(
    [
        "bound",
        "built",
        "chosen",
        "done",
        "drawn",
        "found",
        "given",
        "held",
        "kept",
        "known",
        "left",
        "made",
        "meant",
        "said",
        "seen",
        "sent",
        "shown",
        "spelled",
        "spelt",
        "taken",
        "told",
        "understood",
        "written",
    ]
)
# Verbs that look like participles.
VERBS = frozenset(
    ["bring", "embed", "exceed", "feed", "need", "ping", "proceed", "seed", "shed", "succeed"]
)
# Named like `error` and `note`: functions that return a finding of this severity.
SEVERITIES = frozenset({"warning"})
# Names of the handler API, where calls such as `ctx.api.setting("X")` read like attributes.
PUBLIC = frozenset({"setting", "sampled_content"})


def test_no_function_is_named_by_a_participle() -> None:
    assert [name for name in function_names() if is_participle(name.split(" ")[1])] == []


def test_participles_are_recognised() -> None:
    assert [
        it for it in ("given", "_resolved_name", "reading", "read", "embed") if is_participle(it)
    ] == [
        "given",
        "_resolved_name",
        "reading",
    ]


def is_participle(function: str) -> bool:
    word = function.strip("_").split("_")[0]
    if word in VERBS or function in SEVERITIES | PUBLIC:
        return False
    return word in IRREGULAR or word.endswith(("ed", "ing"))


def function_names() -> Iterator[str]:
    """Return `module.py:line name` for each function, except properties, whose names are nouns."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node):
                yield f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}"


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        "property" in ast.unparse(it) or ".setter" in ast.unparse(it) for it in node.decorator_list
    )
