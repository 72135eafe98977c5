"""Tests that the generated parts of documentation pages are current and complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.generated.blocks import BLOCKS
from tests.docs.generated.diagnostics import documented_rules, rules_of_cases
from tests.docs.generated.pages import block_names, doc_pages, with_blocks

PAGES = [path for path in doc_pages() if path.exists()]
GENERATED = [path for path in PAGES if block_names(path.read_text("utf-8"))]


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.stem)
def test_generated_blocks_are_current(path: Path) -> None:
    page = path.read_text("utf-8")
    assert page == with_blocks(page, BLOCKS), "run `make update-docs`"


def test_every_block_is_in_one_page() -> None:
    names = [name for path in GENERATED for name in block_names(path.read_text("utf-8"))]
    assert sorted(names) == sorted(BLOCKS)


def test_rules_of_all_cases_are_documented() -> None:
    assert rules_of_cases() - documented_rules() == set()
