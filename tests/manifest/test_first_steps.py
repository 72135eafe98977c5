"""Tests of the commented entries in a new manifest: they are valid and fit the document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcpgen.cli.app import run
from tests.support.paths import SPECS

_ENTRY = re.compile(r"# (?=  |select:|operations:|merged:|workflows:)")
KEYED = {
    "openapi": "3.1.0",
    "info": {"title": "Notes", "version": "1"},
    "servers": [{"url": "https://notes.example"}],
    "paths": {
        "/notes": {
            "get": {
                "operationId": "tag:notes",
                "parameters": [
                    {"name": "Sort By", "in": "query", "schema": {"enum": ["yes", "a: b", "#c"]}},
                    {"name": "api_key", "in": "query", "schema": {"type": "string"}},
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 5}},
                ],
                "responses": {"200": {"description": "ok"}},
            },
            "post": {"operationId": "addNote", "responses": {"200": {"description": "ok"}}},
            "put": {"deprecated": True, "responses": {"200": {"description": "ok"}}},
            "delete": {
                "summary": 'Remove "all": # really?',
                "responses": {"204": {"description": "ok"}},
            },
        },
    },
}
ONE = {
    "openapi": "3.0.3",
    "info": {"title": "One", "version": "1"},
    "servers": [{"url": "https://one.example"}],
    "paths": {"/one": {"get": {"responses": {"200": {"description": "ok"}}}}},
}


def new_project(source: Any, folder: Path, *options: str) -> Path:
    if isinstance(source, dict):
        document = folder / "openapi.json"
        document.write_text(json.dumps(source))
        source = document
    target = folder / "shop-mcp"
    assert run(["new", str(source), str(target), "--name", "shop", "--no-models", *options]) == 0
    return target


def uncommented(text: str) -> tuple[str, list[int]]:
    """Return a manifest with all entries uncommented, and their line numbers."""
    lines = text.splitlines()
    numbers = [number for number, line in enumerate(lines) if _ENTRY.match(line)]
    for number in numbers:
        lines[number] = lines[number].removeprefix("# ")
    return "\n".join(lines) + "\n", numbers


@pytest.mark.parametrize(
    "name", ["petstore", "bookshop", "twilio", "reonomy", "search-console", "n8n", "meta-ads"]
)
def test_every_commented_entry_is_accepted(name: str, tmp_path: Path) -> None:
    target = new_project(SPECS / f"{name}.yaml", tmp_path, "-q")
    manifest = target / "mcpgen.yaml"
    changed, numbers = uncommented(manifest.read_text())
    assert len(numbers) >= 6, manifest.read_text()
    manifest.write_text(changed)
    assert run(["generate", str(target), "-q"]) == 0, changed
    stated = yaml.safe_load(changed)
    settings = {key for entry in stated["operations"].values() for key in entry}
    assert {"name", "parameters"} <= settings
    assert stated["select"]


@pytest.mark.parametrize("source", [KEYED, ONE])
def test_commented_entries_escape_names_and_texts(source: Any, tmp_path: Path) -> None:
    target = new_project(source, tmp_path, "-q")
    manifest = target / "mcpgen.yaml"
    changed, _ = uncommented(manifest.read_text())
    manifest.write_text(changed)
    assert run(["generate", str(target), "-q"]) == 0, changed


def test_commented_entries_match_the_operations_of_the_document(tmp_path: Path) -> None:
    target = new_project(KEYED, tmp_path, "-q")
    changed, _ = uncommented((target / "mcpgen.yaml").read_text())
    stated = yaml.safe_load(changed)
    assert stated["select"] == [{"exclude": "PUT /notes"}]
    listing, deleting = stated["operations"]["GET /notes"], stated["operations"]["DELETE /notes"]
    assert listing["parameters"]["sort_by"] == {"fixed": "yes"}
    assert listing["parameters"]["limit"]["default"] >= 5
    assert "api_key" not in listing["parameters"]
    assert deleting == {"confirm": 'Remove "all": # really? This cannot be undone.'}


def test_commented_entries_without_a_matching_operation_are_omitted(tmp_path: Path) -> None:
    text = (new_project(ONE, tmp_path, "-q") / "mcpgen.yaml").read_text()
    assert "confirm" not in text
    assert "fixed" not in text
    assert "select" not in text
    assert "name: get_one" in text


def test_commented_entries_stay_valid_with_a_selection_from_the_command_line(
    tmp_path: Path,
) -> None:
    target = new_project(SPECS / "petstore.yaml", tmp_path, "-q", "--include", "pets")
    manifest = target / "mcpgen.yaml"
    changed, _ = uncommented(manifest.read_text())
    stated = yaml.safe_load(changed)
    assert list(stated["select"][0]) == ["exclude"]
    assert stated["select"][1] == {"include": "pets"}
    manifest.write_text(changed)
    assert run(["generate", str(target), "-q"]) == 0


def test_each_commented_entry_is_valid_by_itself(tmp_path: Path) -> None:
    target = new_project(SPECS / "petstore.yaml", tmp_path, "-q")
    manifest = target / "mcpgen.yaml"
    text = manifest.read_text()
    _, numbers = uncommented(text)
    for number in numbers:
        lines = text.splitlines()
        depth = len(lines[number]) - len(lines[number][1:].lstrip())
        if lines[number].partition("  #")[0].rstrip().endswith(":"):
            continue  # a key without a value
        for above in reversed([each for each in numbers if each <= number]):
            own = len(lines[above]) - len(lines[above][1:].lstrip())
            if own < depth or above == number:
                lines[above] = lines[above].removeprefix("# ")
                depth = own
        manifest.write_text("\n".join(lines) + "\n")
        assert run(["generate", str(target), "-q"]) == 0, manifest.read_text()


def test_a_post_that_deletes_is_the_one_to_confirm(tmp_path: Path) -> None:
    answer = {"200": {"description": "Done."}}
    calls = {name: {"operationId": name, "responses": answer} for name in ("chat_delete", "a_post")}
    source = {**ONE, "paths": {f"/{name}": {"post": call} for name, call in calls.items()}}
    changed, _ = uncommented((new_project(source, tmp_path, "-q") / "mcpgen.yaml").read_text())
    entries = yaml.safe_load(changed)["operations"]
    assert [name for name, entry in entries.items() if "confirm" in entry] == ["chat_delete"]
