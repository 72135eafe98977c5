"""A stranger's text is data in whatever is written, and never code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcpgen.ir.file_set import FileSet
from tests.support.random_documents import SLOTS, document_with, hostile_text, project_files
from tests.support.syntax_trees import without_constants

BREAKOUT = '"""\nimport os\nos.system("id")\n"""'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def benign(folder: Path) -> FileSet:
    return project_files(document_with(["a word"] * SLOTS), folder, folder / "cache")


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(hostile_text, min_size=SLOTS, max_size=SLOTS))
@example([BREAKOUT] * SLOTS)
@example(["\r# \u2028\x85import os"] * SLOTS)
@example(["\\"] * SLOTS)
@example([""] * SLOTS)
def test_hostile_text_changes_only_constants_in_the_code(
    folder: Path, benign: FileSet, texts: list[str]
) -> None:
    hostile = project_files(document_with(texts), folder, folder / "cache")
    assert [file.path for file in hostile] == [file.path for file in benign]
    for ours, theirs in zip(benign, hostile, strict=True):
        if ours.path.endswith(".py"):
            assert without_constants(theirs.content) == without_constants(ours.content), ours.path


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(hostile_text, min_size=SLOTS, max_size=SLOTS))
@example(['"\nname = "evil'] * SLOTS)
@example(["\nUSER root\nEVIL=1\n- document: evil"] * SLOTS)
def test_hostile_text_adds_nothing_to_configuration_files(
    folder: Path, benign: FileSet, texts: list[str]
) -> None:
    hostile = {
        file.path: file.content.decode()
        for file in project_files(document_with(texts), folder, folder / "cache")
    }
    plain = {file.path: file.content.decode() for file in benign}
    project, expected = (tomllib.loads(each["pyproject.toml"]) for each in (hostile, plain))
    del project["project"]["description"], expected["project"]["description"]
    assert project == expected
    for path in ("Dockerfile", "mcpgen.yaml", ".gitignore", ".dockerignore"):
        assert hostile[path] == plain[path]
    assert settings_of(hostile[".env.example"]) == settings_of(plain[".env.example"])


def settings_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]
