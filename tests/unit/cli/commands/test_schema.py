"""Tests of `mcpgen schema manifest`, and of the line that refers an editor to the schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from mcpgen.cli.app import run
from mcpgen.ir.manifest import Manifest
from mcpgen.ir.tests_file import CasesFile
from mcpgen.ir.waivers import WaiversFile
from mcpgen.ir.workspace import WorkspaceFile
from mcpgen.manifest.typed_file import STORED_SCHEMA, json_schema
from mcpgen.render.json_text import pretty


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(["schema", "manifest"]) == 0
    return capsys.readouterr().out


def test_the_stored_schema_is_current() -> None:
    assert STORED_SCHEMA.read_bytes() == pretty(json_schema(Manifest)), "run `make update-docs`"


def test_the_schema_rejects_manifests_with_misspelt_keys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    validator = jsonschema_rs.validator_for(json.loads(printed(capsys)))
    manifest = {"server": {"name": "pets"}, "sources": [{"document": "openapi.yaml"}]}
    assert validator.is_valid(manifest)
    for slip in ({"operation": {}}, {"budget": 10}, {"operations": {"a": {"expose": "no"}}}):
        assert not validator.is_valid({**manifest, **slip}), slip


MARK = "# yaml-language-server: $schema="


def test_a_new_server_has_no_copy_of_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "notes-mcp"
    assert run(["new", "--empty", "notes", str(target), "-q"]) == 0
    text = (target / "mcpgen.yaml").read_text()
    assert "`mcpgen schema --help`" in text.splitlines()[0]
    assert not list(target.rglob("*.schema.json"))
    jsonschema_rs.validate(json.loads(printed(capsys)), yaml.safe_load(text))


def test_generate_writes_the_schema_only_if_the_manifest_refers_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "notes-mcp"
    assert run(["new", "--empty", "notes", str(target), "-q"]) == 0
    manifest, schema = target / "mcpgen.yaml", target / ".mcpgen/manifest.schema.json"
    text = manifest.read_text()
    manifest.write_text(f"{MARK}.mcpgen/manifest.schema.json\n{text}")
    assert run(["generate", str(target), "-q"]) == 0
    assert schema.read_text() == printed(capsys)
    schema.write_text("{}")
    assert run(["check", str(target), "-q"]) == 4
    assert run(["generate", str(target), "-q", "--force"]) == 0
    manifest.write_text(text)
    assert run(["generate", str(target), "-q"]) == 0
    assert not schema.exists()


def test_servers_of_a_workspace_share_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mcpgen-workspace.yaml").write_text(
        'version: 1\nmcpgen: ">=0"\nservers: ["servers/*"]\n'
        "schema: {file: editor/mcpgen.schema.json}\n"
    )
    assert run(["new", "--empty", "notes", "servers/notes-mcp", "-q"]) == 0
    assert run(["ws", "check", "-q"]) == 1
    assert "editor/mcpgen.schema.json is outdated" in capsys.readouterr().err
    assert run(["ws", "generate", "-q"]) == 0
    assert run(["ws", "check", "-q"]) == 0
    line = Path("servers/notes-mcp/mcpgen.yaml").read_text().splitlines()[0]
    shared = Path("servers/notes-mcp", line.removeprefix(MARK))
    assert shared.read_text() == printed(capsys)
    shared.write_text("{}")
    assert run(["ws", "check", "-q"]) == 1


def test_the_json_report_contains_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "manifest", "--json"]) == 0
    carried = json.loads(capsys.readouterr().out)["schema"]
    assert carried == json.loads(printed(capsys))


def test_an_unknown_schema_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "lock"]) == 2
    assert "manifest" in capsys.readouterr().err


FILES = {
    "manifest": Manifest,
    "workspace": WorkspaceFile,
    "tests": CasesFile,
    "waivers": WaiversFile,
}


def keys_of_the_schemas() -> list[tuple[str, str, str]]:
    return [
        (file, name, key)
        for file, type_ in FILES.items()
        for name, about in json_schema(type_)["$defs"].items()
        for key in about.get("properties", {})
    ]


@pytest.mark.parametrize(("file", "name", "key"), keys_of_the_schemas())
def test_every_key_has_a_description_and_valid_examples(file: str, name: str, key: str) -> None:
    schema = json_schema(FILES[file])
    about = schema["$defs"][name]["properties"][key]
    assert about.get("description", "").endswith("."), about
    assert about["description"][0].isupper() or about["description"].startswith("`")
    assert about.get("examples"), about
    validator = jsonschema_rs.Draft202012Validator({**about, "$defs": schema["$defs"]})
    for example in about["examples"]:
        assert validator.is_valid(example), example


@pytest.mark.parametrize("file", FILES)
def test_every_type_of_the_schema_has_a_description(file: str) -> None:
    definitions = json_schema(FILES[file])["$defs"]
    assert not [name for name, about in definitions.items() if not about.get("description")]
