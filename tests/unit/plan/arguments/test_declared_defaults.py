"""Tests of required parameters and members with a default in the document."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.cases import make_cases
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.render.contracts import group_contract
from mcpgen.render.views import handler_module
from mcpgen.testing import read_cases

VERSION = {
    "name": "api-version",
    "in": "query",
    "required": True,
    "schema": {"type": "string", "default": "2024-01-01"},
}
JOB = {
    "type": "object",
    "required": ["kind", "name"],
    "properties": {"kind": {"type": "string", "default": "batch"}, "name": {"type": "string"}},
}


def contract(plan: Any) -> Any:
    (group,) = plan.groups
    (tool,) = group_contract(plan, group)["tools"].values()
    return tool


def smallest(plan: Any) -> Any:
    cases = read_cases(make_cases(plan, Problems()))
    (found,) = [case for case in cases if case.id.endswith(": smallest arguments")]
    return found


def test_the_listing_shows_the_default_of_an_optional_argument(make: Any) -> None:
    plan = make(make.with_parameters(VERSION)).plan()
    (tool,) = plan.tools
    assert "required" not in tool.input_schema
    assert tool.input_schema["properties"]["api_version"]["default"] == "2024-01-01"
    assert contract(plan)["defaults"] == {"api_version": "2024-01-01"}
    (handler,) = handler_module(plan, plan.groups[0]).handlers
    assert "api_version: str" in handler.signature
    assert "ABSENT" not in handler.signature


def test_the_generated_suite_omits_an_argument_with_a_default(make: Any) -> None:
    case = smallest(make(make.with_parameters(VERSION)).plan())
    assert case.arguments == {}
    assert case.expect["request"]["query"] == {"api-version": "2024-01-01"}


def test_the_default_of_an_optional_parameter_is_not_sent(make: Any) -> None:
    plan = make(make.with_parameters({**VERSION, "required": False})).plan()
    assert "defaults" not in contract(plan)
    assert smallest(plan).expect["request"]["query"] == {}


def test_an_invalid_default_is_reported_once(make: Any) -> None:
    parameter = {**VERSION, "schema": {"type": "integer", "minimum": 5, "default": 1}}
    root = make.with_parameters({"$ref": "#/components/parameters/v"})
    root["components"] = {"parameters": {"v": parameter}}
    root["paths"]["/b"] = root["paths"]["/pets"]
    lowered = make(root)
    tools = lowered.plan().tools
    assert [tool.input_schema["required"] for tool in tools] == [["api_version"]] * 2
    (problem,) = lowered.found("default-invalid")
    assert "`api-version`" in problem.message
    assert problem.at is not None
    assert problem.at.pointer == "/components/parameters/v"


def test_a_default_of_the_wrong_type_is_ignored(make: Any) -> None:
    parameter = {**VERSION, "schema": {"type": "integer", "default": "many"}}
    lowered = make(make.with_parameters(parameter))
    assert lowered.tool().input_schema["required"] == ["api_version"]
    assert lowered.found("default-type")


@pytest.mark.parametrize(
    ("location", "schema"),
    [
        ("path", {"type": "string", "default": ""}),
        ("query", {"type": ["string", "null"], "default": None}),
        ("query", {"type": "array", "items": {"type": "string"}, "default": []}),
        ("header", {"type": "string", "default": "caf\u00e9"}),
    ],
)
def test_a_default_that_cannot_be_sent_is_ignored(make: Any, location: str, schema: Any) -> None:
    parameter = {"name": "v", "in": location, "required": True, "schema": schema}
    root = make.with_parameters(
        parameter, version="3.1.0", path="/a/{v}" if location == "path" else "/a"
    )
    assert make(root).tool().input_schema["required"] == ["v"]


def test_a_member_is_optional_for_callers_and_required_for_handlers(make: Any) -> None:
    plan = make(make.with_body({"$ref": "#/components/schemas/Job"}, schemas={"Job": JOB})).plan()
    (tool,) = plan.tools
    body = tool.input_schema["properties"]["body"]
    assert body["required"] == ["name"]
    assert body["properties"]["kind"]["default"] == "batch"
    assert contract(plan)["members"] == {"body": {"kind": "batch"}}
    (argument,) = tool.arguments
    assert argument.annotation.source == "Job"
    case = smallest(plan)
    assert list(case.arguments["body"]) == ["name"]
    assert case.expect["request"]["body"] == {**case.arguments["body"], "kind": "batch"}


def test_a_missing_member_with_a_default_has_no_negative_case(make: Any) -> None:
    plan = make(make.with_body(JOB)).plan()
    cases = read_cases(make_cases(plan, Problems()))
    assert not [case.id for case in cases if "/body/kind` breaks `required`" in case.id]
    assert [case.id for case in cases if "/body/name` breaks `required`" in case.id]


@pytest.mark.parametrize("method", ["put", "patch"])
def test_a_body_of_put_or_patch_keeps_its_required_members(make: Any, method: str) -> None:
    tool = make(make.with_body(JOB, method=method)).tool()
    assert tool.input_schema["properties"]["body"]["required"] == ["kind", "name"]
    assert tool.members == {}


def test_alternatives_of_a_body_keep_their_required_members(make: Any) -> None:
    schema = {**JOB, "oneOf": [{"required": ["name"]}, {"required": ["kind"]}]}
    assert make(make.with_body(schema)).tool().members == {}


@pytest.mark.parametrize(
    ("entry", "sent"),
    [("{fixed: '2020'}", {"api-version": "2020"}), ("{default: '2021'}", {"api-version": "2021"})],
)
def test_the_manifest_overrides_the_declared_default(make: Any, entry: str, sent: Any) -> None:
    head = "server: {name: shop}\nsources: [{document: openapi.yaml}]\noperations:\n"
    text = f"{head}  GET /pets: {{parameters: {{api_version: {entry}}}}}\n"
    problems = Problems()
    intent = read_manifest(text.encode(), problems)
    plan = plan_tools(make(make.with_parameters(VERSION)).api, Policy(intent), problems)
    assert smallest(plan).expect["request"]["query"] == sent


def test_members_with_a_default_and_a_fixed_member_are_combined(make: Any) -> None:
    schema = {**JOB, "required": ["kind", "name"]}
    head = "server: {name: shop}\nsources: [{document: openapi.yaml}]\noperations:\n"
    text = f"{head}  POST /pets: {{parameters: {{body.name: {{fixed: night}}}}}}\n"
    problems = Problems()
    intent = read_manifest(text.encode(), problems)
    plan = plan_tools(make(make.with_body(schema)).api, Policy(intent), problems)
    case = smallest(plan)
    assert case.arguments == {"body": {}}
    assert case.expect["request"]["body"] == {"kind": "batch", "name": "night"}
