"""Item 1: a second `generate` writes nothing: of our documents, of real ones and of random ones.

The cache forgets that the project is current, so that all of it is made and compared again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from mcpgen.pipeline import commands as pipeline
from tests.corpus.documents import CORPUS
from tests.properties.documents import documents
from tests.regeneration import projects

SPECS = Path(__file__).resolve().parents[2] / "specs"
REAL = (
    "adyen-openapi-json-TransactionService-v4.json",
    "ag-googleapis.com-searchconsole-v1.yaml",
    "ag-httpbin.org-0.9.2.yaml",
    "n8n-2.8.4-public-api-v1-openapi.yaml",
    "twilio-oai-yaml-twilio_lookups_v2.yaml",
)


def assert_a_second_run_writes_nothing(source: Path, target: Path, cache: Path) -> bool:
    """Make a project and generate it again; say whether the document was good for one."""
    options = pipeline.Options(outside_judge=False, cache=cache)
    if pipeline.new(str(source), target, options, projects.silent).exit_code != 0:
        return False
    before, written = projects.tree_hash(target), projects.times(target)
    shutil.rmtree(cache / "current", ignore_errors=True)  # not there where something was warned of
    report = projects.generate(target, cache)
    assert (report.exit_code, report.written, report.deleted) == (0, (), ())
    assert (projects.tree_hash(target), projects.times(target)) == (before, written)
    return True


@pytest.mark.parametrize("name", ["bookshop.yaml", "petstore.yaml"])
def test_our_documents(name: str, tmp_path: Path, cache: Path) -> None:
    assert assert_a_second_run_writes_nothing(SPECS / name, tmp_path / "server", cache)


@pytest.mark.parametrize("name", REAL)
def test_real_documents(name: str, tmp_path: Path, cache: Path) -> None:
    source = CORPUS / "docs" / name
    if not source.exists():
        pytest.skip(f"no ../shared/corpus, so `{name}` is not tested")
    assert assert_a_second_run_writes_nothing(source, tmp_path / "server", cache)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents())
def test_random_documents(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, document: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("random")
    source = folder / "document.json"
    source.write_text(json.dumps(document))
    # Of 20 that can be served; a generator of documents that mostly cannot would fail the test.
    assume(assert_a_second_run_writes_nothing(source, folder / "server", cache))
