"""Tests that each rule of docs/reference/diagnostics.md has an example with the shown output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.diagnostic_examples import (
    DOCUMENT,
    FOLDER,
    Example,
    examples_of,
    read_examples,
    run_command,
    run_example,
)
from tests.docs.generated.diagnostics import documented_rules, rules_of_cases
from tests.support.paths import REPOSITORY

EXAMPLES = read_examples()
RUN = [it for it in EXAMPLES.values() if it.is_run]


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a document, and the project that is generated from it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "openapi.yaml").write_text(DOCUMENT)
    run_command("mcpgen new openapi.yaml server --defaults", folder)
    assert (folder / "server" / "mcpgen.lock").is_file()
    return folder


@pytest.mark.parametrize("example", RUN, ids=lambda it: it.rule)
def test_example_prints_what_the_page_shows(
    example: Example,
    tmp_path: Path,
    project: Path,
    updates: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    seen = run_example(example, tmp_path, project)
    if updates and seen != example.text:
        path = next(it for it in FOLDER.glob("*.md") if f"## `{example.rule}`\n" in it.read_text())
        path.write_text(path.read_text("utf-8").replace(example.text, seen), "utf-8")
        return
    assert seen == example.text


def test_every_rule_has_a_section() -> None:
    assert sorted(documented_rules() - EXAMPLES.keys()) == []
    assert sorted(EXAMPLES.keys() - documented_rules()) == []


def test_every_section_has_one_example_or_a_reason() -> None:
    for rule, example in EXAMPLES.items():
        kinds = [bool(example.case), example.is_run, bool(example.reason)]
        assert kinds.count(True) == 1, rule


def test_every_section_states_a_meaning_and_a_remedy() -> None:
    for rule, example in EXAMPLES.items():
        assert not example.shown.startswith(("```", "Remedy: ")), rule
        has_help = "  help: " in example.text or bool(example.case)
        assert has_help or "\nRemedy: " in example.text, rule


def test_sections_of_a_file_are_sorted() -> None:
    for path in FOLDER.glob("*.md"):
        rules = [it.rule for it in examples_of(path.read_text("utf-8"))]
        assert rules == sorted(set(rules)), path.name


def test_cases_named_by_a_section_report_its_rule() -> None:
    for rule, example in EXAMPLES.items():
        if example.case:
            expected = REPOSITORY / "tests" / "cases" / example.case / "stderr.txt"
            assert f"[{rule}]" in expected.read_text("utf-8"), rule
    assert rules_of_cases() <= EXAMPLES.keys()
