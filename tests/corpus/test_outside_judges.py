"""Tests of a small, fixed part of the comparison with outside judges; `make judges` runs all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus.calls import JudgedDocument
from tests.corpus.outside_judges import COMMANDS, decision_on, decisions, tally
from tests.support.corpus import CORPUS, corpus_documents, is_present

pytestmark = pytest.mark.skipif(not is_present(), reason=f"no corpus in {CORPUS}")

PART = (
    "ag-httpbin.org-0.9.2.yaml",
    "gram-internal-openapi-speakeasy-bar.yaml",
    "redocly-cli-e2e-generate-client-query-styles.yaml",
    "redocly-cli-examples-_shared-cafe.yaml",
    "twilio-oai-yaml-twilio_lookups_v2.yaml",
)
LEAST_OPERATIONS = 80


def test_external_validators_build_the_same_requests(tmp_path: Path) -> None:
    for judge, command in COMMANDS.items():
        if not Path(command[0]).exists():
            message = f"{judge} is missing; `make peers` installs it"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
    documents = [
        JudgedDocument(each.name, each.path) for each in corpus_documents() if each.name in PART
    ]
    assert len(documents) == len(PART)
    rows = decisions()
    for found in tally(documents, tmp_path):
        assert len(found.judged) >= LEAST_OPERATIONS, found.failed
        kinds = {kind for kinds in found.disputed.values() for kind in kinds}
        undecided = [kind for kind in kinds if decision_on(found.judge, kind, rows) is None]
        assert undecided == []
