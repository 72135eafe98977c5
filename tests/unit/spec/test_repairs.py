"""Repairs as an overlay: with it, reading the document finds nothing left to repair."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mcpgen.cli.app import run

DOCUMENT = """\
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: https://shop.example.com}]
security: [{Gone: []}, {Key: []}]
paths:
  /pets/{pet's}:
    get:
      operationId: getPet
      parameters:
        - {name: "pet's", in: path, schema: {type: string, pattern: "["}}
        - {name: size, in: query, schema: {type: integer, default: big}}
        - {name: size, in: query, schema: {type: integer}}
        - {name: nowhere, in: path, required: true, schema: {type: string}}
      responses:
        "200":
          description: done
          content:
            application/json:
              schema:
                {type: object, required: [id, id], properties: {id: {type: integer}}}
components:
  securitySchemes: {Key: {type: apiKey, in: header, name: X-Key}}
"""
REPAIRED = {
    "default-type",
    "duplicate-parameter",
    "duplicate-required",
    "path-parameter-optional",
    "pattern",
    "unknown-security-scheme",
    "unused-path-parameter",
}


def test_the_suggested_overlay_leaves_nothing_to_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(DOCUMENT)
    assert run(["overlay", "suggest", "shop.yaml"]) == 0
    told = capsys.readouterr()
    assert {code for code in REPAIRED if f"[{code}]" in told.err} == REPAIRED
    overlay = yaml.safe_load(told.out)
    assert overlay["overlay"] == "1.0.0"
    Path("mend.yaml").write_text(told.out)
    Path("one.yaml").write_text(
        "server: {name: one}\nsources: [{document: shop.yaml, overlays: [mend.yaml]}]\n"
    )

    assert run(["new", "one.yaml"]) == 0

    told = capsys.readouterr()
    assert {code for code in REPAIRED if f"[{code}]" in told.err} == set()
    assert "overlay-without-match" not in told.err
    assert Path("one-mcp/shop.yaml").read_text() == DOCUMENT


def test_a_sound_document_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT[: DOCUMENT.index("security:")] + (
        "paths: {/pets: {get: {responses: {'200': {description: done}}}}}\n"
    )
    Path("shop.yaml").write_text(text)
    assert run(["overlay", "suggest", "shop.yaml"]) == 0
    assert "actions" not in capsys.readouterr().out
