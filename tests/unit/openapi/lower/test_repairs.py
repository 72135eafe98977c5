"""Tests of repairs as an overlay: after applying it, there is nothing left to repair."""

from __future__ import annotations

import json
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


def test_the_suggested_overlay_repairs_every_problem(
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


def test_a_valid_document_needs_no_overlay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT[: DOCUMENT.index("security:")] + (
        "paths: {/pets: {get: {responses: {'200': {description: done}}}}}\n"
    )
    Path("shop.yaml").write_text(text)
    assert run(["overlay", "suggest", "shop.yaml"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("note[no-repairs]: no repair for an overlay")


def test_a_supported_keyword_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Values of OpenAPI 3.0 and quoted numbers count; removing them would change the schema."""
    monkeypatch.chdir(tmp_path)
    kept = "type: number, minimum: 1, exclusiveMinimum: true, nullable: true"
    quoted = 'type: string, maxLength: "5"'
    Path("shop.yaml").write_text(
        'openapi: "3.1.0"\ninfo: {title: Shop, version: "1"}\n'
        "paths: {/pets: {get: {parameters: ["
        f"{{name: a, in: query, schema: {{{kept}}}}}, {{name: b, in: query, schema: {{{quoted}}}}}"
        "], responses: {'200': {description: done}}}}}\n"
    )
    assert run(["overlay", "suggest", "shop.yaml"]) == 0
    told = capsys.readouterr()
    assert told.err.count("[schema-keyword]") == 3
    assert told.out == ""


@pytest.mark.parametrize("version", ['openapi: "3.1.0"', 'swagger: "2.0"'])
def test_an_undeclared_path_parameter_is_declared(
    version: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    kind = "type: string" if "swagger" in version else "schema: {type: string}"
    Path("shop.yaml").write_text(
        f"{version}\ninfo: {{title: Shop, version: '1'}}\n"
        + ("host: shop.example\n" if "swagger" in version else "")
        + "paths:\n  /pets/{petId}/toys/{toy}:\n    get:\n"
        f"      parameters: [{{name: size, in: query, {kind}}}]\n"
        "      responses: {'200': {description: done}}\n"
    )
    assert run(["overlay", "suggest", "shop.yaml"]) == 0
    overlay = capsys.readouterr().out
    Path("mend.yaml").write_text(overlay)
    Path("one.yaml").write_text(
        "server: {name: one}\nsources: [{document: shop.yaml, overlays: [mend.yaml]}]\n"
        "models: false\n"
    )
    assert run(["new", "one.yaml"]) == 0
    assert "missing-path-parameter" not in capsys.readouterr().err
    (tools,) = Path("one-mcp/src/one_mcp/_generated/tools").glob("*.json")
    (tool,) = json.loads(tools.read_bytes())["tools"].values()
    assert {item["name"] for item in tool["request"]["parameters"]} == {"petId", "toy", "size"}
