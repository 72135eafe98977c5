"""Tests of the option `--code` of `mcpgen new` and `mcpgen generate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from msgspec import convert

from mcpgen.cli.app import run
from mcpgen.cli.wizard import spell_command
from mcpgen.contract.code_mode import CodeBounds
from mcpgen.pipeline.options import Options
from tests.support.projects import DOCUMENT


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "petshop.yaml"
    path.write_text(DOCUMENT)
    return path


def read_contract(project: Path) -> dict[str, object]:
    (path,) = project.glob("src/*/_generated/contract.json")
    contract: dict[str, object] = json.loads(path.read_text())
    return contract


def test_new_and_generate_turn_code_mode_on_and_off(document: Path, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    assert run(["new", str(document), str(project), "--defaults", "--code"]) == 0
    assert yaml.safe_load((project / "mcpgen.yaml").read_text())["code"] is True
    contract = read_contract(project)
    assert contract["code"] == {
        "max_calls": 50, "max_seconds": 60.0, "max_compute_seconds": 10.0, "max_memory_mb": 64,
        "max_runs": 4,
    }  # fmt: skip
    assert contract["extras"] == {"code": ["run_code"]}
    assert "mcpgen[code]" in (project / "pyproject.toml").read_text()

    assert run(["generate", str(project), "--no-code"]) == 0
    assert yaml.safe_load((project / "mcpgen.yaml").read_text())["code"] is False
    assert "code" not in read_contract(project)
    assert "mcpgen[code]" not in (project / "pyproject.toml").read_text()

    assert run(["generate", str(project), "--code", "--dry-run"]) == 0
    assert yaml.safe_load((project / "mcpgen.yaml").read_text())["code"] is False


def test_bounds_that_are_stated_stay(document: Path, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    assert run(["new", str(document), str(project), "--defaults"]) == 0
    manifest = project / "mcpgen.yaml"
    bounds = "{max_calls: 3, max_runs_per_caller: 1}"
    manifest.write_text(f"{manifest.read_text()}\ncode: {bounds}\n")
    before = manifest.read_text()

    assert run(["generate", str(project), "--code"]) == 0

    assert manifest.read_text() == before
    written = convert(read_contract(project)["code"], CodeBounds)
    assert written == CodeBounds(max_calls=3, max_runs_per_caller=1)


def test_bounds_out_of_range_are_rejected(
    document: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "shop"
    assert run(["new", str(document), str(project), "--defaults"]) == 0
    manifest = project / "mcpgen.yaml"
    manifest.write_text(f"{manifest.read_text()}\ncode: {{max_calls: 0, max_cals: 1}}\n")

    assert run(["generate", str(project)]) == 3

    told = capsys.readouterr().err
    assert "max_cals" in told
    assert "max_calls" in told


def test_a_manifest_decides_about_code_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "mcpgen.yaml"
    manifest.write_text("server: {name: shop}\nsources: []\n")

    assert run(["new", str(manifest), str(tmp_path / "shop"), "--code"]) == 2
    assert "--code" in capsys.readouterr().err


def test_the_command_that_repeats_a_new_server_has_the_option() -> None:
    assert spell_command("a.yaml", Path("a-mcp"), Options(name="a", code=True)).endswith("--code")
