"""Tests of operations whose path parameters were renamed since they were published."""

from __future__ import annotations

from typing import Any

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.naming.published_paths import with_published_paths
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy

MANIFEST = b"server: {name: shop}\nsources: [{document: openapi.yaml}]\n"


def plan(
    make: Any, paths: dict[str, str], issued: dict[str, str], style: str = "simple"
) -> ServerPlan:
    """Plan an API of GET operations, given the operationId of each path."""
    root = make.document()
    root["paths"] = {
        path: {
            "get": {
                "operationId": operation_id,
                "parameters": [
                    {
                        "name": part[1:-1],
                        "in": "path",
                        "required": True,
                        "schema": {},
                        "style": style,
                    }
                    for part in path.split("/")
                    if part.startswith("{")
                ],
                "responses": {"200": {"description": "done"}},
            }
        }
        for path, operation_id in paths.items()
    }
    problems = Problems()
    policy = Policy(read_manifest(MANIFEST, problems), issued)
    api = with_published_paths(make(root).api, issued)
    return plan_tools(api, policy, problems)


def test_a_tool_keeps_its_name_when_a_parameter_of_its_path_is_renamed(make: Any) -> None:
    planned = plan(make, {"/tags/{tagName}": "fetchLabel"}, {"GET /tags/{id}": "get_tag"})
    (tool,) = planned.tools
    assert (tool.name, tool.operation.key) == ("get_tag", "GET /tags/{id}")
    assert [argument.name for argument in tool.arguments] == ["id"]


def test_a_name_stays_with_its_own_path_if_that_is_there_still(make: Any) -> None:
    planned = plan(
        make,
        {"/tags/{id}": "getTag", "/tags/{name}": "findTag"},
        {"GET /tags/{id}": "tag"},
    )
    names = {tool.operation.key: tool.name for tool in planned.tools}
    assert names == {"GET /tags/{id}": "tag", "GET /tags/{name}": "find_tag"}


def test_a_name_does_not_move_to_one_of_two_paths(make: Any) -> None:
    planned = plan(
        make,
        {"/tags/{id}": "getTag", "/tags/{name}": "findTag"},
        {"GET /tags/{key}": "tag"},
    )
    assert [tool.name for tool in planned.tools] == ["find_tag", "get_tag"]


def test_parameters_are_renamed_by_their_place_in_the_path(make: Any) -> None:
    planned = plan(make, {"/a/{second}/b/{first}": "getB"}, {"GET /a/{first}/b/{second}": "get_b"})
    (tool,) = planned.tools
    assert tool.operation.path == "/a/{first}/b/{second}"
    assert [argument.wire_name for argument in tool.arguments] == ["first", "second"]


def test_a_path_that_names_two_parameters_alike_stays_as_it_is(make: Any) -> None:
    planned = plan(make, {"/a/{id}/b/{id}": "getB"}, {"GET /a/{first}/b/{second}": "get_b"})
    assert [tool.operation.path for tool in planned.tools] == ["/a/{id}/b/{id}"]


def test_a_name_that_is_sent_is_that_of_the_document(make: Any) -> None:
    planned = plan(make, {"/tags/{tagName}": "getTag"}, {"GET /tags/{id}": "get_tag"}, "matrix")
    assert [argument.wire_name for argument in planned.tools[0].arguments] == ["tagName"]


def test_a_tool_keeps_its_name_if_its_path_moves(make: Any) -> None:
    planned = plan(make, {"/v2/tags": "listTags"}, {"GET /v1/tags": "list_tags"})
    assert [(tool.name, tool.operation.key) for tool in planned.tools] == [
        ("list_tags", "GET /v2/tags")
    ]


def test_a_tool_gets_another_name_if_the_document_has_the_published_one(make: Any) -> None:
    paths = {"/v1/tags": "fetchLabels", "/v2/tags": "listTags"}
    planned = plan(make, paths, {"GET /v1/tags": "list_tags"})
    names = {tool.operation.key: tool.name for tool in planned.tools}
    assert names["GET /v1/tags"] == "list_tags" != names["GET /v2/tags"]
