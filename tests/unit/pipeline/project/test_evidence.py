"""Tests of evidence files: their time, replaced results, and the inputs they depend on."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcpgen.pipeline.project.evidence import (
    BUNDLE,
    LINT,
    SOURCE,
    is_evidence_current,
    read_evidence,
    write_evidence,
)
from mcpgen.pipeline.project.input_hashes import ProjectFiles, hash_inputs

START = datetime(2026, 1, 31, 23, 59, 58, 700_000, tzinfo=UTC)
LOCK = {
    "lock_version": 2,
    "mcpgen": "0.6.0",
    "toolchain": {},
    "documents": {
        "openapi.json": {"etag": '"1"', "sha256": {"openapi.json": "0"}, "source": "shop.json"}
    },
    "inputs": {"answers": "", "manifest": ""},
    "files": {},
    "operations": {},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the files of a project that evidence depends on."""
    target = tmp_path / "shop-mcp"
    files = {
        "mcpgen.lock": json.dumps(LOCK, sort_keys=True),
        "mcpgen.yaml": "version: 1\n",
        "openapi.json": "{}\n",
        "pyproject.toml": "[project]\n",
        "src/shop_mcp/__init__.py": "",
        "src/shop_mcp/_generated/contract.json": "{}\n",
        "src/shop_mcp/handlers/own.py": "",
        "tests/generated/cases.json": "[]\n",
        "tests/test_own.py": "",
    }
    for path, content in files.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(content)
    return target


def record(project: Path, result: str, minutes: int, outcome: str = "passed") -> dict[str, Any]:
    found = {"outcome": outcome, "result": result}
    write_evidence(project, LINT, found, now=START + timedelta(minutes=minutes))
    evidence = read_evidence(project, LINT)
    assert evidence is not None
    return evidence


def test_evidence_has_the_time_in_utc_and_seconds(project: Path) -> None:
    here = START.astimezone()
    write_evidence(project, LINT, {}, now=here)
    assert (read_evidence(project, LINT) or {})["time"] == "2026-01-31T23:59:58Z"


def test_replaced_results_are_kept_the_latest_first(project: Path) -> None:
    assert record(project, "no findings", 0)["earlier"] == []
    record(project, "1 error", 1, "failed")
    assert record(project, "2 errors", 2, "failed")["earlier"] == [
        {"time": "2026-02-01T00:00:58Z", "outcome": "failed", "result": "1 error"},
        {"time": "2026-01-31T23:59:58Z", "outcome": "passed", "result": "no findings"},
    ]


def test_a_result_found_again_is_listed_once_with_its_last_time(project: Path) -> None:
    for minute in range(3):
        assert record(project, "no findings", minute)["earlier"] == []
    (entry,) = record(project, "1 error", 3, "failed")["earlier"]
    assert entry["time"] == "2026-02-01T00:01:58Z"
    assert record(project, "1 error", 4, "failed")["earlier"] == [entry]


def test_at_most_ten_earlier_results_are_kept(project: Path) -> None:
    for minute in range(15):
        evidence = record(project, f"{minute} errors", minute)
    assert [it["result"] for it in evidence["earlier"]] == [f"{n} errors" for n in range(13, 3, -1)]


def test_an_earlier_result_without_a_time_has_none(project: Path) -> None:
    path = project / ".mcpgen/evidence/lint.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"outcome": "failed", "result": "1 error", "check": "lint"}))
    assert record(project, "no findings", 0)["earlier"] == [
        {"outcome": "failed", "result": "1 error"}
    ]


@pytest.mark.parametrize(
    "damaged", ["{", "[]", '{"earlier": 1}', '{"earlier": [1, {"result": []}]}', "[" * 100_000]
)
def test_damaged_evidence_is_replaced(project: Path, damaged: str) -> None:
    path = project / ".mcpgen/evidence/lint.json"
    path.parent.mkdir(parents=True)
    path.write_text(damaged)
    assert record(project, "no findings", 0)["earlier"] == []


def test_evidence_is_replaced_as_a_whole(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = record(project, "no findings", 0)

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        record(project, "1 error", 1)
    assert read_evidence(project, LINT) == before
    assert [path.name for path in (project / ".mcpgen/evidence").iterdir()] == ["lint.json"]


def test_evidence_has_no_path_of_the_machine(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.parent)
    summary = f"ERROR collecting {project.resolve()}/tests/test_own.py in {project.resolve()}"
    write_evidence(Path("shop-mcp"), "tests", {"result": summary})
    text = (project / ".mcpgen/evidence/tests.json").read_text()
    assert str(project.parent) not in text
    assert json.loads(text)["result"] == "ERROR collecting tests/test_own.py in ."


@pytest.mark.parametrize(
    ("changed", "checks"),
    [
        ("openapi.json", {LINT, SOURCE}),
        ("mcpgen.yaml", {LINT}),
        ("src/shop_mcp/_generated/contract.json", {LINT, BUNDLE}),
        ("src/shop_mcp/handlers/own.py", {LINT, BUNDLE}),
        ("src/shop_mcp/skills/shop/SKILL.md", {BUNDLE}),
        ("tests/test_own.py", {LINT}),
        ("pyproject.toml", {BUNDLE}),
        ("README.md", set()),
    ],
)
def test_evidence_depends_on_the_inputs_of_its_check(
    project: Path, changed: str, checks: set[str]
) -> None:
    for check in (LINT, SOURCE, BUNDLE):
        write_evidence(project, check, {})
    (project / changed).parent.mkdir(parents=True, exist_ok=True)
    (project / changed).write_text("changed\n")
    stale = {
        check
        for check in (LINT, SOURCE, BUNDLE)
        if not is_evidence_current(project, read_evidence(project, check) or {})
    }
    assert stale == checks


def test_another_entity_tag_of_the_same_document_changes_no_input(project: Path) -> None:
    before = hash_inputs(ProjectFiles(project))
    lock = (project / "mcpgen.lock").read_text()
    (project / "mcpgen.lock").write_text(lock.replace(r'"\"1\""', r'"W/\"2\""'))
    assert (project / "mcpgen.lock").read_text() != lock
    assert hash_inputs(ProjectFiles(project)) == before
    (project / "mcpgen.lock").write_text(lock.replace("shop.json", "other.json"))
    assert hash_inputs(ProjectFiles(project))["lock"] != before["lock"]
