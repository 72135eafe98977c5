"""Tests of `mcpgen validate`: output, files and exit codes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from tests.support.paths import REPOSITORY

SERVER = REPOSITORY / "tests" / "unit" / "factory" / "validate" / "small_server.py"


def validate(*options: str, fault: str = "") -> int:
    command = [sys.executable, "-I", "-S", str(SERVER), *([fault] if fault else [])]
    return run(["validate", *options, "--", *command])


@pytest.mark.slow
def test_a_good_score_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert validate("--revision", "2025-11-25", "--min-score", "100") == 0
    assert "2025-11-25   100  PASS" in capsys.readouterr().out


@pytest.mark.slow
def test_a_failed_must_exits_with_1_and_writes_every_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / "out" / name for name in ("junit", "sarif", "markdown")}
    options = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    assert validate("--json", "--revision", "2025-11-25", *options, fault="banner") == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["outcome"] == "failed"
    assert printed["revisions"]["2025-11-25"]["score"] == 59
    (finding,) = printed["findings"]
    assert finding["rule"] == "stdout-only-messages"
    assert finding["evidence"][0]["text"] == "small server 1.0 is ready"
    (run_,) = json.loads(files["sarif"].read_bytes())["runs"]
    assert [it["ruleId"] for it in run_["results"]] == ["stdout-only-messages"]
    assert "stdout-only-messages" in files["junit"].read_text("utf-8")
    assert "**stdout-only-messages**" in files["markdown"].read_text("utf-8")


@pytest.mark.slow
def test_a_revision_that_was_asked_for_and_is_not_supported_exits_with_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert validate("--revision", "2024-11-05") == 1
    assert "2024-11-05     -  not supported" in capsys.readouterr().out


@pytest.mark.slow
def test_an_unreachable_server_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert validate("--json", fault="exits") == 1
    assert json.loads(capsys.readouterr().out)["outcome"] == "unreachable"


@pytest.mark.slow
def test_only_a_run_of_all_revisions_and_transports_is_evidence(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore / "src" / "petstore_mcp" / "__main__.py").write_text("raise SystemExit(1)\n")
    path = petstore / ".mcpgen" / "evidence" / "validate.json"
    path.unlink(missing_ok=True)
    for options in (["--revision", "2025-11-25"], ["--transport", "stdio"]):
        assert run(["validate", str(petstore), *options]) == 1
        assert not path.exists()

    assert run(["validate", str(petstore)]) == 1

    evidence = json.loads(path.read_text())
    assert (evidence["check"], evidence["outcome"]) == ("validate", "unreachable")
    assert evidence["inputs"]["lock"]
    assert str(petstore) not in path.read_text()


@pytest.mark.slow
def test_evidence_that_cannot_be_written_is_noted(
    petstore: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (petstore / "src" / "petstore_mcp" / "__main__.py").write_text("raise SystemExit(1)\n")
    folder = petstore / ".mcpgen" / "evidence"
    shutil.rmtree(folder)
    folder.write_text("in the way")

    assert run(["validate", str(petstore)]) == 1
    assert "note[no-evidence]: cannot write .mcpgen/evidence/validate.json" in (
        capsys.readouterr().err
    )


def test_a_requirement_is_explained_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--explain", "response-ids", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["requirement"]["level"] == "must"
    assert printed["requirement"]["rows"] == ["L002", "N002"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--explain", "response-id"], "did you mean `response-ids`"),
        (["--revision", "2025-11-26", "--", "x"], "unknown revision `2025-11-26`"),
        (["--transport", "tcp", "--", "x"], "unknown transport `tcp`"),
        (["--transport", "http", "--", "x"], "a command is examined over stdio"),
        (["--transport", "stdio", "http://localhost/mcp"], "cannot be examined over stdio"),
        (["--header", "secret-value", "http://localhost/mcp"], "invalid value of --header"),
        (["--token-from", "MCPGEN_NOT_SET", "http://localhost/mcp"], "is not set"),
    ],
)
def test_wrong_usage_exits_with_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["validate", *words]) == 2
    assert said in capsys.readouterr().err
