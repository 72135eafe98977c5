"""Tests of `mcpgen tools --proposals`: manifest entries proposed for an existing server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run

KEY = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
}
USER = {"name": "user", "in": "path", "required": True, "schema": {"type": "string"}}


def list_keys(whose: str, *parameters: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "array", "items": KEY}}}
    return {
        "operationId": f"list{whose}Keys",
        "summary": f"List the keys of {'yourself' if whose == 'My' else 'a user'}",
        "parameters": [*parameters],
        "responses": {"200": {"description": "Keys.", "content": content}},
    }


@pytest.fixture
def server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    document = tmp_path / "openapi.json"
    paths = {
        "/user/keys": {"get": list_keys("My")},
        "/users/{user}/keys": {"get": list_keys("User", USER)},
    }
    info, servers = {"title": "Keys", "version": "1"}, [{"url": "https://keys.example"}]
    document.write_text(
        json.dumps({"openapi": "3.0.3", "info": info, "servers": servers, "paths": paths})
    )
    folder = tmp_path / "keys-mcp"
    assert run(["new", str(document), str(folder), "--defaults", "--name", "keys"]) == 0
    (folder / "mcpgen.yaml").write_text(
        "server: {name: keys}\nsources: [{document: openapi.json}]\n"
    )
    capsys.readouterr()
    return folder


def test_printed_entries_can_be_pasted_into_the_manifest(
    server: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tools", str(server), "--proposals"]) == 0
    printed = capsys.readouterr().out
    assert "1 merged tool and" in printed
    assert "listMyKeys" in printed

    with (server / "mcpgen.yaml").open("a") as manifest:
        manifest.write(printed)
    assert run(["generate", str(server)]) == 0
    capsys.readouterr()

    assert run(["tools", str(server), "--proposals", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["merged"], found["workflows"]) == ({}, {})


def test_proposals_are_for_servers_that_mcpgen_made(
    tmp_path: Path, server: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tools", "https://keys.example/mcp", "--proposals"]) == 2
    assert "--proposals needs the folder" in capsys.readouterr().err
    assert run(["tools", str(server), "--proposals", "--tokens"]) == 2
