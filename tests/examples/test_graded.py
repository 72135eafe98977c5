"""Tests of the examples with Glama's deterministic stages of its tool score."""

from __future__ import annotations

import pytest

from mcpgen.factory.lint.glama import grade_server
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.packages import find_package
from tests.support.examples import NAMES
from tests.support.paths import EXAMPLES

HINTS = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
LEAST_COVERAGE = 80  # percent


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_described_and_annotations_explicit(name: str) -> None:
    listing = load_package(find_package(EXAMPLES / f"{name}-mcp"))
    grade = grade_server(listing)
    assert grade is not None
    signals = [tool.signals for tool in grade.tools]
    parameters = sum(it.parameters for it in signals)
    described = sum(it.parameters * it.description_coverage for it in signals)
    assert described >= LEAST_COVERAGE * parameters
    assert not [tool.name for tool in grade.tools if tool.flags]
    for tool in listing.all_tools:
        assert tool["annotations"].keys() >= HINTS, tool["name"]
