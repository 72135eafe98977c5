"""Tests of arguments that the manifest fixes, hides, renames, describes or gives a default."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import Fixed, ToolPlan
from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.cases import make_cases
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.render.contracts import group_contract
from mcpgen.render.views import handler_module
from mcpgen.testing import read_cases

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\noperations:\n  addPet:\n"


class OverriddenOperation:
    """The plan of one operation with `parameters` of a manifest."""

    def __init__(self, make: Any, parameters: str, *, is_open: bool = False) -> None:
        root = make.document(
            {
                "operationId": "addPet",
                "parameters": [
                    {"name": "shop", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "format", "in": "query", "schema": {"enum": ["json", "xml"]}},
                    {"name": "petLimit", "in": "query", "schema": {"type": "integer"}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}
                    },
                },
            },
            path="/shops/{shop}/pets",
            method="post",
            schemas={
                "Pet": {
                    "type": "object",
                    "required": ["name", "status"],
                    "properties": {
                        "name": {"type": "string"},
                        "status": {"type": "string", "enum": ["new", "sold"]},
                        "note": {"type": "string"},
                    },
                    "additionalProperties": is_open,
                }
            },
        )
        self.problems = Problems()
        intent = read_manifest(f"{HEAD}    parameters: {parameters}\n".encode(), self.problems)
        self.plan = plan_tools(make(root).api, Policy(intent), self.problems)

    @property
    def tool(self) -> ToolPlan:
        (tool,) = self.plan.tools
        return tool

    @property
    def request(self) -> str:
        (handler,) = handler_module(self.plan, self.plan.groups[0]).handlers
        return handler.request

    def sent(self, what: str) -> Any:
        (case,) = [
            case
            for case in read_cases(make_cases(self.plan, self.problems))
            if case.id == f"add_pet: {what} arguments"
        ]
        return case


def test_a_fixed_parameter_is_sent_and_not_listed(make: Any) -> None:
    adjusted = OverriddenOperation(make, "{format: {fixed: json}}")
    assert "format" not in adjusted.tool.input_schema["properties"]
    assert adjusted.tool.fixed == (Fixed("query", "format", "json"),)
    assert "query={'petLimit': pet_limit, 'format': 'json'}" in adjusted.request
    case = adjusted.sent("smallest")
    assert case.expect["request"]["query"] == {"format": "json"}
    assert "format" not in case.arguments


def test_a_fixed_member_is_added_to_the_body(make: Any) -> None:
    adjusted = OverriddenOperation(make, "{body.status: {fixed: new}}")
    assert sorted(adjusted.tool.input_schema["properties"]["body"]["properties"]) == [
        "name",
        "note",
    ]
    assert "body={**body, 'status': 'new'}" in adjusted.request
    case = adjusted.sent("smallest")
    assert case.expect["request"]["body"]["status"] == "new"
    assert list(case.arguments["body"]) == ["name"]


def test_a_body_without_required_arguments_is_optional(make: Any) -> None:
    adjusted = OverriddenOperation(make, "{body.status: {fixed: new}, body.name: {fixed: Rex}}")
    assert adjusted.tool.input_schema["required"] == ["shop"]
    case = adjusted.sent("smallest")
    assert case.expect["request"]["body"] == {"name": "Rex", "status": "new"}
    assert "body" not in case.arguments
    contract = group_contract(adjusted.plan, adjusted.plan.groups[0])
    assert contract["tools"]["add_pet"]["defaults"] == {"body": {}}


def test_a_hidden_parameter_is_neither_listed_nor_sent(make: Any) -> None:
    adjusted = OverriddenOperation(make, "{format: {hidden: true}, body.note: {hidden: true}}")
    properties = adjusted.tool.input_schema["properties"]
    assert "format" not in properties
    assert "note" not in properties["body"]["properties"]
    assert "format" not in adjusted.request
    assert "format" not in adjusted.sent("largest").expect["request"]["query"]


@pytest.mark.parametrize("wish", ["{hidden: true}", "{fixed: mine}"])
def test_an_open_body_rejects_hidden_and_fixed_members(make: Any, wish: str) -> None:
    adjusted = OverriddenOperation(make, f"{{body.note: {wish}}}", is_open=True)
    tool = adjusted.tool
    assert "note" not in tool.input_schema["properties"]["body"]["properties"]
    checked = SchemaValidator(tool.full_input_schema or tool.input_schema)
    body = {"name": "Rex", "status": "new", "more": 1}
    assert not checked.problems({"shop": "s", "body": body})
    (problem,) = checked.problems({"shop": "s", "body": {**body, "note": "yours"}})
    assert problem == '`/body/note` must be omitted, not "yours"'
    schemas = [model.schema for model in adjusted.plan.models.values()]
    (offered,) = [schema for schema in schemas if "status" in schema["properties"]]
    assert list(offered["properties"]) == ["name", "status"]


def test_a_default_is_sent_if_the_argument_is_missing(make: Any) -> None:
    adjusted = OverriddenOperation(make, "{pet_limit: {default: 20}, shop: {default: main}}")
    schema = adjusted.tool.input_schema
    assert schema["properties"]["pet_limit"]["default"] == 20
    assert schema["required"] == ["body"]
    assert adjusted.sent("smallest").expect["request"]["query"] == {"petLimit": 20}
    assert adjusted.sent("smallest").expect["request"]["path"] == {"shop": "main"}
    contract = group_contract(adjusted.plan, adjusted.plan.groups[0])
    assert contract["tools"]["add_pet"]["defaults"] == {"pet_limit": 20, "shop": "main"}


def test_an_argument_can_be_renamed_and_described(make: Any) -> None:
    adjusted = OverriddenOperation(
        make, "{pet_limit: {name: at_most, description: How many.}, body.note: {description: N.}}"
    )
    properties = adjusted.tool.input_schema["properties"]
    assert properties["at_most"]["description"] == "How many."
    assert "pet_limit" not in properties
    assert properties["body"]["properties"]["note"]["description"] == "N."
    assert "'petLimit': at_most" in adjusted.request


@pytest.mark.parametrize(
    ("parameters", "code", "message", "help"),
    [
        ("{formt: {hidden: true}}", "parameter-unknown", "no argument `formt`", "`format`"),
        ("{body.nam: {hidden: true}}", "parameter-unknown", "`body.nam`", "`body.name`"),
        ("{shop: {hidden: true}}", "parameter-entry", "is required", "`fixed`"),
        ("{body.name: {hidden: true}}", "parameter-entry", "is required", "`fixed`"),
        ("{format: {fixed: yaml}}", "parameter-entry", "cannot have this value", "yaml"),
        ("{pet_limit: {default: many}}", "parameter-entry", "cannot have this value", "integer"),
        ("{format: {fixed: json, hidden: true}}", "parameter-entry", "more than one", "one"),
        ("{format: {fixed: json, name: kind}}", "parameter-entry", "is not an argument", "remove"),
        (
            "{format: {hidden: true, description: D.}}",
            "parameter-entry",
            "is not an argument",
            "remove",
        ),
        ("{format: {name: max_pages}}", "parameter-name", "`max_pages`", "of its own"),
        ("{format: {name: content_type}}", "parameter-name", "`content_type`", "of its own"),
        ("{body.note: {default: x}}", "parameter-entry", "cannot have a", "`fixed`"),
        ("{format: {name: shop}}", "parameter-name", "cannot be called `shop`", "of its own"),
        ("{format: {name: body}}", "parameter-name", "cannot be called `body`", "of its own"),
        ("{body.note: {name: x}}", "parameter-name", "cannot be called `x`", "arguments: flat"),
    ],
)
def test_an_invalid_override_is_rejected_at_its_location(
    make: Any, parameters: str, code: str, message: str, help: str
) -> None:
    (problem,) = OverriddenOperation(make, parameters).problems
    assert (problem.code, problem.severity) == (code, "error")
    assert message in problem.message
    assert help in problem.help
    assert problem.at is not None
    assert problem.at.line == 5
