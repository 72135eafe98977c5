"""Tests of hostile documents in load, resolve and validate, each with its expected verdict."""

from __future__ import annotations

import csv
import socket

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.openapi.validate.validate import validate
from tests.support.paths import SHARED

FOLDER = SHARED / "adversarial"
# Documents rejected by other stages, and the rules that are expected here.
NOT_A_DOCUMENT = {"d37_template_tasks/copier.yml"}
CODES = {
    "d18_ref_file_etc_passwd.json": {"outside-ref": 1},
    "d19_ref_http_loopback.json": {"remote-ref": 1},
    "d20_ref_pure_cycle.json": {"ref-cycle": 2},
    "d22_ref_dangling.json": {"unresolved-ref": 2, "wrong-kind-of-ref": 1},
    "d23_yaml_billion_laughs.yaml": {"yaml-expansion": 1},
    "d24_deep_arrays.json": {"too-deep": 1},
    "d27_yaml_python_tag.yaml": {"yaml-tag": 1},
    "d31_confusable_names.json": {"mixed-script": 2},
    "d33_duplicate_operationid.json": {"duplicate-operation-id": 1},
    "d38_secrets_in_document.json": {"secret-in-document": 3},
    "d39_hidden_unicode.json": {"hidden-characters": 2},
    "d40_instructions_in_description.json": {"instruction-in-text": 1},
    "d41_annotation_contradiction.json": {"annotation-contradiction": 2},
    "d42_truncated.json": {"json-syntax": 1},
    "d43_wrong_shapes.json": {"wrong-shape": 3},
    "d44_unknown_version.json": {"unsupported-version": 1},
    "d45_ref_http_path_item.json": {"remote-ref": 3},
}


def verdicts() -> list[tuple[str, str]]:
    index = FOLDER / "index.csv"
    if not index.exists():
        return []
    with index.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["file"], row["verdict"]) for row in rows if row["file"] not in NOT_A_DOCUMENT]


@pytest.mark.skipif(not FOLDER.exists(), reason="the hostile documents are not beside this clone")
@pytest.mark.parametrize(("name", "verdict"), verdicts())
def test_a_hostile_document_is_accepted_or_rejected_as_expected(
    name: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    problems = Problems()
    try:
        document = resolve(load(str(FOLDER / name), problems), problems)
        validate(document, problems, external_validator=False)
    except RejectedError:
        assert problems.has_errors
    codes = [problem.code for problem in problems]
    for code, count in CODES.get(name, {}).items():
        assert codes.count(code) == count, codes
    if verdict == "reject":
        assert problems.has_errors
    elif verdict == "ok":
        assert not problems.has_errors, list(problems)
    assert all(problem.at is not None for problem in problems)
    text = repr(list(problems))
    assert "FAKE-" not in text
    assert "root:x:0" not in text
