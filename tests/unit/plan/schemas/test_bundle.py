"""Tests of the bundling of schemas: known parts, and the definitions that operations need."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.direction import Shapes
from mcpgen.plan.schemas.bundle import Bundler, Limits, collect_needed_schemas
from mcpgen.plan.schemas.output_profile import OutputProfile


@pytest.fixture
def bundler() -> Bundler:
    limits = Limits(inline_bytes=4_000, total_bytes=4_000, depth=6)
    return Bundler(Shapes({}, "response"), OutputProfile(), limits, frozenset())


def test_parts_are_known_by_schema_and_not_by_its_place_in_memory(bundler: Bundler) -> None:
    texts = [f"The number {number}" for number in range(50)]
    found = [bundler.bundle([{"type": "string", "description": text}]) for text in texts]
    assert [bundle.schemas[0]["description"] for bundle in found] == texts


def test_a_part_that_is_known_whole_is_cut_where_it_nests_too_deeply(bundler: Bundler) -> None:
    leaf = {"type": "string", "description": "A name."}
    inner: Any = {"type": "object", "properties": {"leaf": leaf}}
    whole = bundler.bundle([leaf, inner]).schemas
    assert whole[1]["properties"]["leaf"] == whole[0]
    deep = inner
    for _ in range(6):
        deep = {"type": "object", "properties": {"deeper": deep}}
    bundle = bundler.bundle([leaf, deep])
    assert bundle.is_cut
    assert bundle.schemas[0] == whole[0]
    assert "leaf" not in str(bundle.schemas[1])
    assert str(bundle.schemas[1]).count("deeper") == 6


def test_the_definitions_that_operations_need_include_those_that_they_refer_to(make: Any) -> None:
    plan = make(
        make.with_response({"$ref": "#/components/schemas/Pet"}, schemas={"Pet": {}})
    ).plan()
    named: dict[str, Any] = {
        "Pet": {"type": "object", "properties": {"owner": {"$ref": "#/$defs/Owner"}}},
        "Owner": {"type": "array", "items": {"$ref": "#/$defs/Pet"}},
        "Order": {"type": "object", "properties": {"pet": {"$ref": "#/$defs/Pet"}}},
    }
    found = collect_needed_schemas(plan.api.operations, Shapes(named, "request"))
    assert [*found] == ["Owner", "Pet"]
