"""`mcpgen schema manifest`, and the line that lets an editor find the same."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from mcpgen.cli.app import run
from mcpgen.ir.manifest import Manifest
from mcpgen.ir.tests_file import CasesFile
from mcpgen.ir.workspace import WorkspaceFile
from mcpgen.manifest.typed_file import json_schema


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(["schema", "manifest"]) == 0
    return capsys.readouterr().out


def test_the_schema_tells_a_manifest_from_a_slip_of_the_pen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    validator = jsonschema_rs.validator_for(json.loads(printed(capsys)))
    manifest = {"server": {"name": "pets"}, "sources": [{"document": "openapi.yaml"}]}
    assert validator.is_valid(manifest)
    for slip in ({"operation": {}}, {"budget": 10}, {"operations": {"a": {"expose": "no"}}}):
        assert not validator.is_valid({**manifest, **slip}), slip


def test_a_new_manifest_points_to_the_schema_in_its_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "notes-mcp"
    assert run(["new", "--empty", "notes", str(target), "-q"]) == 0
    text = (target / "mcpgen.yaml").read_text()
    mark = "# yaml-language-server: $schema="
    assert text.startswith(mark)
    schema = (target / text.splitlines()[0].removeprefix(mark)).read_text()
    assert schema == printed(capsys)
    jsonschema_rs.validate(json.loads(schema), yaml.safe_load(text))


def test_json_carries_the_schema_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "manifest", "--json"]) == 0
    carried = json.loads(capsys.readouterr().out)["schema"]
    assert carried == json.loads(printed(capsys))


def test_another_schema_is_not_had(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "lock"]) == 2
    assert "manifest" in capsys.readouterr().err


FILES = {"manifest": Manifest, "workspace": WorkspaceFile, "tests": CasesFile}


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
