"""Tests that a second `generate` writes nothing, for our, real and random documents.

The cache that marks the project as current is cleared first, so that everything is generated and
compared again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from tests.regeneration import projects
from tests.support.corpus import CORPUS
from tests.support.paths import SPECS
from tests.support.random_documents import documents

REAL = (
    "adyen-openapi-json-TransactionService-v4.json",
    "ag-googleapis.com-searchconsole-v1.yaml",
    "ag-httpbin.org-0.9.2.yaml",
    "n8n-2.8.4-public-api-v1-openapi.yaml",
    "twilio-oai-yaml-twilio_lookups_v2.yaml",
)


def assert_a_second_run_writes_nothing(source: Path, target: Path, cache: Path) -> bool:
    """Make a project and generate it again; return whether the document could be used."""
    options = Options(external_validator=False, cache=cache)
    if new(str(source), target, options, projects.silent).outcome != "done":
        return False
    before, written = projects.tree_hash(target), projects.times(target)
    shutil.rmtree(cache / "current", ignore_errors=True)  # missing after a run with warnings
    report = projects.generate(target, cache)
    assert (report.outcome, report.written, report.deleted) == ("done", (), ())
    assert (projects.tree_hash(target), projects.times(target)) == (before, written)
    return True


@pytest.mark.parametrize("name", ["bookshop.yaml", "petstore.yaml"])
def test_a_second_run_on_an_example_document_writes_nothing(
    name: str, tmp_path: Path, cache: Path
) -> None:
    assert assert_a_second_run_writes_nothing(SPECS / name, tmp_path / "server", cache)


@pytest.mark.parametrize("name", REAL)
def test_a_second_run_on_a_real_document_writes_nothing(
    name: str, tmp_path: Path, cache: Path
) -> None:
    source = CORPUS / "docs" / name
    if not source.exists():
        pytest.skip(f"no ../shared/corpus, so `{name}` is not tested")
    assert assert_a_second_run_writes_nothing(source, tmp_path / "server", cache)


def test_a_second_run_with_an_unused_model_writes_nothing(tmp_path: Path, cache: Path) -> None:
    """The handler returns `object` for a union, so the only class of the document is unused."""
    node = {"allOf": [{"enum": ["\u00e9"]}, {"type": "object", "properties": {"next": {}}}]}
    either = {"anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/Node"}]}
    result = {"additionalProperties": either}
    operation = {
        "operationId": "getNodes",
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": result}}}
        },
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Nodes", "version": "1"},
        "servers": [{"url": "https://nodes.example"}],
        "paths": {"/nodes": {"get": operation}},
        "components": {"schemas": {"Node": node}},
    }
    source = tmp_path / "document.json"
    source.write_text(json.dumps(document))
    assert assert_a_second_run_writes_nothing(source, tmp_path / "server", cache)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents())
def test_a_second_run_on_a_random_document_writes_nothing(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, document: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("random")
    source = folder / "document.json"
    source.write_text(json.dumps(document))
    # 20 documents that can be served; hypothesis fails the test if most documents cannot.
    assume(assert_a_second_run_writes_nothing(source, folder / "server", cache))
