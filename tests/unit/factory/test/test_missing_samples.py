"""Tests of a document with few possible samples: the suite exists and lists what it lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run

pytestmark = pytest.mark.slow

MADE_UP: dict[str, Any] = {
    "no_example": {"type": "string", "format": "date-time"},
    "wrong_example": {"type": "integer", "maximum": 5, "examples": [80, "no number"]},
    "mended": {"type": "integer", "minimum": 5, "maximum": 1},  # without its bounds, which is told
    "recursive": {"$ref": "#/components/schemas/Tree"},
}
NOT_MADE_UP: dict[str, tuple[Any, str]] = {
    "endless": (
        {"$ref": "#/components/schemas/Endless"},
        "its schema requires itself, so a value has no end",
    ),
    "no_text": (
        {"type": "string", "pattern": "^(?=x)(?!x)$"},
        "texts cannot be generated from the pattern",
    ),
    "nothing": (
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        "its schema contradicts itself",
    ),
}
SCHEMAS = {
    "Tree": {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Tree"}}},
    "Endless": {
        "type": "object",
        "required": ["again"],
        "properties": {"again": {"$ref": "#/components/schemas/Endless"}},
    },
}


def operation(name: str, value: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": ["value"], "properties": {"value": value}}
    return {
        "operationId": name,
        "summary": name,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"204": {"description": "Done."}},
    }


@pytest.fixture
def document(tmp_path: Path) -> Path:
    schemas = MADE_UP | {name: schema for name, (schema, _) in NOT_MADE_UP.items()}
    path = tmp_path / "openapi.json"
    described = {
        "openapi": "3.1.0",
        "info": {"title": "Hard", "version": "1"},
        "servers": [{"url": "https://hard.example"}],
        "paths": {f"/{name}": {"post": operation(name, it)} for name, it in schemas.items()},
        "components": {"schemas": SCHEMAS},
    }
    path.write_text(json.dumps(described))
    return path


def test_cases_without_a_sample_are_counted_and_the_rest_is_tested(
    document: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "hard"
    made = run(["new", str(document), str(target), "--defaults", "--no-models", "--json"])
    rules = [finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    tested = run(["test", str(target), "--json", "-k", "test_tools"])
    report = json.loads(capsys.readouterr().out)

    assert (made, tested) == (0, 0)
    tools = {group["group"]: group for group in report["groups"]}
    for name, (_, reason) in NOT_MADE_UP.items():
        (untested,) = tools[name]["untested"]
        assert untested["test"] == "smallest arguments"
        assert reason in untested["reason"]
    for name in MADE_UP:
        assert tools[name]["untested"] == []
        assert tools[name]["passed"] >= 5
    assert rules.count("untested") == report["tests"]["untested"] == len(NOT_MADE_UP)
    assert "empty-range" in rules


def test_cases_without_a_sample_are_one_line_and_verbose_lists_them(
    document: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "hard"
    number = len(NOT_MADE_UP)
    assert run(["new", str(document), str(target), "--defaults", "--no-models"]) == 0
    counted = f"note[untested]: no sample generated for {number} test cases; --verbose lists them"
    notes = [line for line in capsys.readouterr().err.splitlines() if "[untested]" in line]
    assert notes == [counted]

    with (target / "mcpgen.yaml").open("a") as manifest:
        manifest.write("# changed\n")
    assert run(["generate", str(target), "--verbose"]) == 0
    shown = capsys.readouterr().err
    for name, (_, reason) in NOT_MADE_UP.items():
        case = f"`{name}: smallest arguments`"
        assert f"note[untested]: no sample generated for the test case {case}" in shown
        assert reason in shown

    assert run(["test", str(target), "-k", "test_tools"]) == 0
    out = capsys.readouterr().out
    assert f"{number} tests without a sample, or skipped; --verbose lists the reasons" in out
    assert "  untested: " not in out
    assert run(["test", str(target), "-k", "test_tools", "--verbose"]) == 0
    assert capsys.readouterr().out.count("  untested: ") == number
