"""Tests of waivers in `mcpgen lint` and `mcpgen validate`: what fails, and what is still shown."""

from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory import waivers as waivers_module
from mcpgen.ir.waivers import Waiver
from tests.support.paths import REPOSITORY

LINT = ("lint", "--targets", "cursor")  # which has one finding about the petstore
SMALL_SERVER = REPOSITORY / "tests" / "unit" / "factory" / "validate" / "small_server.py"


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime(2026, 11, 24, 23, 59, tzinfo=UTC)
    monkeypatch.setattr(waivers_module, "read_clock", lambda: moment)


def waive(
    petstore: Path, rule: str = "schema-keyword", expires: str = "2026-11-24", more: str = ""
) -> None:
    entry = f'{{rule: {rule}, reason: A reason, owner: "@me", expires: {expires}{more}}}'
    (petstore / "waivers.yaml").write_text(f"version: 1\nwaivers:\n  - {entry}\n")


def report_of(
    capsys: pytest.CaptureFixture[str], petstore: Path, *words: str, code: int
) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*LINT, str(petstore), "--json", *words]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rules_of(report: dict[str, Any]) -> set[str]:
    return {it["rule"] for it in report["findings"] if it["severity"] != "note"}


def test_a_waived_finding_is_shown_and_does_not_fail(
    petstore: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert rules_of(report_of(capsys, petstore, code=1)) == {"schema-keyword"}
    waive(petstore)
    sarif = tmp_path / "lint.sarif"
    report = report_of(capsys, petstore, "--sarif", str(sarif), code=0)
    (finding,) = (it for it in report["findings"] if it["severity"] == "warning")
    assert finding["waived"] == {"reason": "A reason", "owner": "@me", "expires": "2026-11-24"}
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    assert [it["ruleId"] for it in results if "suppressions" in it] == ["schema-keyword"]
    assert run([*LINT, str(petstore)]) == 0
    printed = capsys.readouterr().err
    assert "warning[schema-keyword]" in printed
    assert "\n  waived until 2026-11-24 by @me: A reason\n" in printed
    assert "1 waived" in printed.splitlines()[-1]


def test_findings_of_one_kind_are_shown_apart_if_some_are_waived(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", str(petstore)]) == 0
    assert capsys.readouterr().err.count("note[description-short]") == 1
    waive(petstore, "description-short", more=", tool: get_pet")
    assert run(["lint", str(petstore)]) == 0
    shown = capsys.readouterr().err.split("note[description-short]")[1:]
    assert ["waived until" in it for it in shown] == [False, True]


def test_evidence_has_the_findings_without_waivers(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waive(petstore)
    report_of(capsys, petstore, code=0)
    evidence = json.loads((petstore / ".mcpgen/evidence/lint.json").read_text())
    assert evidence["outcome"] == "failed"
    (failing,) = [it for it in evidence["findings"] if it["severity"] != "note"]
    assert (failing["rule"], failing["tool"]) == ("schema-keyword", "update_user")
    assert failing["help"] == "leave the keyword out"


def test_an_expired_waiver_fails_and_its_finding_counts_again(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waive(petstore, expires="2026-11-23")
    report = report_of(capsys, petstore, code=1)
    assert rules_of(report) == {"schema-keyword", "waiver-expired"}
    assert not any("waived" in it for it in report["findings"])


def test_an_expired_waiver_without_a_finding_fails(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waive(petstore, "array-items", "2026-11-23")
    assert run(["lint", str(petstore)]) == 1
    assert "help: remove it" in capsys.readouterr().err


def test_a_waiver_without_a_finding_is_a_note(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waive(petstore, more=", tool: delete_*")
    report = report_of(capsys, petstore, code=1)
    assert "waiver-unused" in {it["rule"] for it in report["findings"]}


def test_fix_leaves_waived_findings_alone(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--targets", "portable", "--tokens-budget", "3000", "--dry-run")
    assert report_of(capsys, petstore, *words, code=1)["fixes"]
    waive(petstore, "token-budget")
    assert report_of(capsys, petstore, *words, code=1)["fixes"] == []


def test_an_invalid_file_exits_with_3(petstore: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waive(petstore, "schema-keywords")
    assert run(["lint", str(petstore)]) == 3
    printed = capsys.readouterr().err
    assert "error[waivers]: unknown rule `schema-keywords`\n  --> waivers.yaml:3:12" in printed
    assert "help: did you mean `schema-keyword`?" in printed
    assert run(["validate", str(petstore)]) == 3
    assert run(["audit", str(petstore)]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expires", "options", "code"),
    [
        (date(2026, 11, 24), (), 0),
        (date(2026, 11, 24), ("--min-score", "60"), 1),
        (date(2026, 11, 23), (), 1),
    ],
)
def test_a_waiver_of_a_requirement_leaves_the_score(
    expires: date,
    options: tuple[str, ...],
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiver = Waiver("A reason", "@me", expires, rule="stdout-only-messages")
    monkeypatch.setattr("mcpgen.cli.commands.validate.load_waivers", lambda _package: (waiver,))
    command = [sys.executable, "-I", "-S", str(SMALL_SERVER), "banner"]
    chosen = ("--revision", "2025-11-25", *options)
    assert run(["validate", "--json", *chosen, "--", *command]) == code
    report = json.loads(capsys.readouterr().out)
    assert report["revisions"]["2025-11-25"]["score"] == 59
    assert report["revisions"]["2025-11-25"]["verdict"] == "FAIL"
    finding = report["findings"][0]
    is_waived = expires == date(2026, 11, 24)
    assert finding["rule"] == "stdout-only-messages"
    assert ("waived" in finding) is is_waived
    assert ("waiver-expired" in {it["rule"] for it in report["findings"]}) is not is_waived
