"""Tests of what the mock's description of the API omits."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mcpgen.render.upstream_file import upstream_file


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
