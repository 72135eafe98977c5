"""Tests of references to results of calls in tasks."""

from __future__ import annotations

import pytest

from mcpgen.ir.eval_references import mask_references


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("/pets/{$calls.new#/pet/id}/visits", "/pets/{}/visits"),
        ("/pets/{petId}/visits", "/pets/{petId}/visits"),
        ("$calls.new#/id", "$calls.new#/id"),
    ],
)
def test_references_in_braces_are_masked_with_their_slashes(text: str, masked: str) -> None:
    assert mask_references(text) == masked
