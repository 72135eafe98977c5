"""Tests of what the mock's description of the API omits."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mcpgen.render.upstream_file import as_json, upstream_file


def test_fields_used_only_by_the_plan_are_not_in_the_mock_data(make: Any) -> None:
    header = {"name": "Authorization", "in": "header", "schema": {"type": "string"}}
    api = make(make.with_parameters(header)).api
    (operation,) = api.operations
    assert operation.reserved
    api = replace(
        api, operations=(replace(operation, published_arguments=frozenset({"authorization"})),)
    )
    (described,) = upstream_file(api)["operations"]
    assert described.keys().isdisjoint({"is_public", "published_arguments", "reserved"})


def test_operations_that_share_a_parameter_describe_it_as_each_alone(make: Any) -> None:
    api = make(make.with_parameters({"name": "a", "in": "query", "schema": {"type": "string"}})).api
    (operation,) = api.operations
    (shared,) = operation.parameters
    sent = replace(shared, name="b", is_generated=True)
    other = replace(operation, path="/other", parameters=(sent, shared))
    first, second = upstream_file(replace(api, operations=(operation, other)))["operations"]
    assert first == as_json(operation)
    assert second["parameters"] == [as_json(sent) | {"is_generated": True}, as_json(shared)]
