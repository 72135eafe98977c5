"""Tests of arguments that mcpgen adds: which tools have them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.plan.cases.parts import make_parts
from mcpgen.plan.plan import plan_tools
from tests.support.policies import first_policy

MANY = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "owner": {"type": "object", "properties": {"name": {"type": "string"}}},
        **{f"member{number}": {"type": "string"} for number in range(20)},
    },
}
FEW = {"type": "object", "properties": {"id": {"type": "integer"}}}


def own(tool: Any) -> set[str]:
    return set(tool.input_schema["properties"])


def test_a_result_with_many_members_can_be_selected_from(make: Any) -> None:
    tool = make(make.with_response(MANY)).tool()
    assert tool.fields == "fields"
    assert tool.input_schema["properties"]["fields"] == {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "description": "Members to return: `id`, `owner.name`; all by default.",
    }
    assert own(make(make.with_response({"type": "array", "items": MANY})).tool()) >= {"fields"}
    assert own(make(make.with_response(MANY, method="post")).tool()) == {"fields"}


def test_a_result_with_few_members_is_returned_as_a_whole(make: Any) -> None:
    assert own(make(make.with_response(FEW)).tool()) == {"continue_from"}


def test_a_published_argument_stays_if_the_result_has_fewer_members(make: Any) -> None:
    published = {"GET /pets": frozenset({"fields"})}
    policy = replace(first_policy("demo"), published_arguments=published)

    def plan(result: Any) -> Any:
        (tool,) = plan_tools(make(make.with_response(result)).api, policy, Problems()).tools
        return tool

    two = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    assert (plan(two).fields, own(plan(two))) == ("fields", {"fields", "continue_from"})
    assert own(plan(FEW)) == {"continue_from"}


@pytest.mark.parametrize("name", ["fields", "$select", "field_mask", "fields[pets]", "onlyFields"])
def test_the_selection_of_an_api_is_its_own_argument(make: Any, name: str) -> None:
    root = make.with_response(MANY)
    parameter = {"name": name, "in": "query", "schema": {"type": "string"}}
    root["paths"]["/pets"]["get"]["parameters"] = [parameter]
    tool = make(root).tool()
    assert tool.fields == ""
    assert len(tool.input_schema["properties"]) == 2
    assert tool.input_schema["properties"]["continue_from"]["type"] == "string"


def test_another_argument_of_the_name_gets_no_rival(make: Any) -> None:
    root = make.with_response(MANY, path="/pets/{fields}/{continue_from}")
    names = ("fields", "continue_from")
    (path,) = root["paths"].values()
    path["get"]["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]
    tool = make(root).tool()
    assert own(tool) == {*names, "result_fields", "result_continue_from"}
    assert (tool.fields, tool.continuation) == ("result_fields", "result_continue_from")


@pytest.mark.parametrize(
    ("method", "content", "goes_on"),
    [
        ("get", {"application/json": {}}, True),
        ("get", {"text/csv": {}}, True),
        ("get", {"application/x-ndjson": {}}, True),
        ("get", {"image/png": {}}, False),
        ("get", {}, False),
        ("head", {"application/json": {}}, False),
        ("post", {"application/json": {}}, False),
        ("delete", {"application/json": {}}, False),
    ],
)
def test_tools_that_only_read_go_on_from_a_cut_result(
    make: Any, method: str, content: Any, goes_on: bool
) -> None:
    responses = {"200": {"description": "ok", "content": content}}
    tool = make(make.document({"responses": responses}, method=method)).tool()
    assert bool(tool.continuation) is goes_on
    assert own(tool) == ({"continue_from"} if goes_on else set())


def test_the_case_of_one_member_keeps_what_the_manifest_selects_of_it(make: Any) -> None:
    pets = {"type": "object", "properties": {"pets": {"type": "array", "items": MANY}}}
    tool = make(make.with_response(pets)).tool()
    selected = {"pets": {"[]": {"id": {}}}}
    for select in ({}, selected):
        narrowed = replace(tool, policies=replace(tool.policies, select=select))
        (part,) = (it for it in make_parts(narrowed) if tool.fields in it["arguments"])
        assert part["kept"]["select"] == (select or {"pets": {}})
