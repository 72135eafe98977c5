"""Tests of `mcpgen test` with a Python that lacks packages imported by the tests."""

from __future__ import annotations

import json
import os
import sys
import venv
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.test import run as runs
from mcpgen.factory.workspace.checks import run_tests
from mcpgen.factory.workspace.members import Server


def lack_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_FIND_MISSING", "print('pytest')")


def test_a_server_with_an_empty_environment_reports_what_to_install(
    petstore_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    venv.create(petstore_copy / ".venv", with_pip=False)
    python = ".venv/Scripts/python.exe" if os.name == "nt" else ".venv/bin/python"

    code = run(["test", str(petstore_copy)])

    captured = capsys.readouterr()
    assert (code, captured.out) == (1, "")
    assert captured.err.splitlines() == [
        "error[missing-package]: cannot run the tests: pytest and mcpgen are not installed",
        f"  why:  the tests run with {python}, the server's own Python",
        f"  help: run `{python} -m pip install -e '.[test]'` in the server's folder",
    ]


def test_a_missing_package_is_reported_and_writes_no_evidence(
    petstore_copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lack_pytest(monkeypatch)

    assert run(["test", str(petstore_copy), "--json"]) == 1

    report = json.loads(capsys.readouterr().out)
    (finding,) = report["findings"]
    assert (report["outcome"], finding["rule"]) == ("findings", "missing-package")
    assert finding["message"] == "cannot run the tests: pytest is not installed"
    assert "pip install 'mcpgen[cli]'" in finding["help"]
    assert not (petstore_copy / ".mcpgen/evidence/tests.json").exists()


def test_the_extra_of_a_server_is_checked_before_its_tests(
    petstore_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = petstore_copy / "src/petstore_mcp/_generated/contract.json"
    described = {**json.loads(contract.read_text()), "extras": {"seal": ["get_pet"]}}
    contract.write_text(json.dumps(described))
    runs.check_packages(petstore_copy)

    monkeypatch.setattr(runs, "_FIND_MISSING", "print('cryptography')")

    with pytest.raises(runs.MissingPackagesError, match=r"mcpgen\[seal\] is not installed"):
        runs.check_packages(petstore_copy)


def test_mutation_checks_the_packages_of_both_environments(
    petstore_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def missing(python: str, *_: object) -> list[str]:
        asked.append(python)
        return []

    monkeypatch.setattr(runs, "_find_missing_modules", missing)
    monkeypatch.setattr(runs, "_find_interpreter", lambda _: "own")
    runs.check_packages(petstore_copy, also_here=True)
    assert asked == ["own", sys.executable]


def test_a_workspace_reports_missing_packages(
    petstore_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack_pytest(monkeypatch)

    result = run_tests(Server(path="petstore", target=petstore_copy))

    assert (result.outcome, result.summary) == ("findings", "the tests cannot run")
    assert [problem.code for problem in result.problems] == ["missing-package"]
