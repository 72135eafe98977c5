"""Properties of projects: nothing is lost, files are valid, and bytes depend only on the input."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpgen.diagnostics import RejectedError
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import GenerateOptions, Options
from tests.support.paths import SPECS
from tests.support.random_documents import documents, project_files, shuffled

METHODS = {"get", "put", "delete"}
few = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("projects")


@few
@given(documents())
def test_every_operation_is_served_or_reported_as_skipped(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    source = folder / "document.json"
    source.write_text(json.dumps(document))
    target = tmp_path_factory.mktemp("target") / "project"
    options = Options(external_validator=False, cache=folder / "cache")
    report = new(str(source), target, options, lambda _: None)
    if report.outcome == "done":
        operations = sum(len(METHODS & item.keys()) for item in document["paths"].values())
        assert len(report.plan.tools) + len(report.plan.skipped) == operations
        assert_a_second_run_writes_nothing(target, folder / "cache")
    else:
        assert report.outcome == "rejected"
        assert report.problems.has_errors
        assert not target.exists()


def assert_a_second_run_writes_nothing(target: Path, cache: Path) -> None:
    again = generate(target, GenerateOptions(external_validator=False, cache=cache), lambda _: None)
    assert (again.outcome, again.written, again.deleted) == ("done", (), ())
    assert check(target).outcome == "done"


@few
@given(documents(), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_change_the_output(
    folder: Path, document: dict[str, Any], order: random.Random
) -> None:
    assert outcome(document, folder) == outcome(shuffled(document, order), folder)


@pytest.mark.parametrize("spec", sorted(SPECS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_order_of_keys_in_the_example_documents_does_not_change_the_output(
    folder: Path, spec: Path
) -> None:
    document = yaml.load(spec.read_text(), yaml.CSafeLoader)
    files = outcome(document, folder)
    assert files
    for seed in range(3):
        assert outcome(shuffled(document, random.Random(seed)), folder) == files, seed


def outcome(document: dict[str, Any], folder: Path) -> dict[str, str]:
    """Return the text of every file, or {} if the document is rejected."""
    try:
        files = project_files(document, folder, folder / "cache")
    except RejectedError:
        return {}
    return {file.path: file.content.decode() for file in files}
