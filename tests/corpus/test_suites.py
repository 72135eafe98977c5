"""Tests of the generated tests of six real documents; `make suites` runs those of twenty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.suites import KINDS, generated, proved
from tests.support.corpus import CORPUS, corpus_documents, is_present

pytestmark = pytest.mark.skipif(not is_present(), reason=f"no corpus in {CORPUS}")

PART = (
    "go-swagger-codegen-todolist.url.basepath.yaml",
    "hellosign-openapi-oseg-security_schemes.yaml",
    "oapi-codegen-parameters-roundtrip-parameters.yaml",
    "oas-examples-8.2.2-3.1-yaml-parameters-style.yaml",
    "oas-examples-8.2.2-3.1-yaml-schema-types.yaml",
    "redocly-cli-cafe.yaml",
)
COULD_NOT_BE_MADE_UP = {
    "go-swagger-codegen-todolist.url.basepath.yaml": ["more rules"],  # than are tested
    # Two bodies whose schemas require two types at once.
    "oas-examples-8.2.2-3.1-yaml-schema-types.yaml": ["smallest arguments"] * 2,
}


@pytest.mark.parametrize("name", PART)
def test_generated_tests_of_a_real_document_pass(tmp_path: Path, name: str) -> None:
    (document,) = [each for each in corpus_documents() if each.name == name]

    report = proved(document, tmp_path, mutants=0)

    failed = [(group["group"], each) for group in report["groups"] for each in group["failed"]]
    untested = [each["test"] for group in generated(report) for each in group["untested"]]
    assert name in KINDS
    assert failed == []
    assert untested == COULD_NOT_BE_MADE_UP.get(name, [])
