"""Tests of body members as tool arguments: which bodies, under which names, with which rules."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.diagnostics import Problems
from mcpgen.ir.listing_form import ListingForm
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.cases import make_cases
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.testing import read_cases

FLAT = ListingForm("flat")
TEXT: dict[str, Any] = {"type": "string"}
HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"


class Planned:
    """The tool of `PUT /pets/{name}` with a given body."""

    def __init__(
        self,
        make: Any,
        schema: Any,
        *,
        required: bool = True,
        manifest: str = "",
        media_type: str = "application/json",
        form: ListingForm = FLAT,
        **body: Any,
    ) -> None:
        content: dict[str, Any] = {media_type: {"schema": schema, **body}}
        name = {"name": "name", "in": "path", "required": True, "schema": TEXT}
        operation = {
            "operationId": "putPet",
            "parameters": [name, {"name": "dryRun", "in": "query", "schema": {"type": "boolean"}}],
            "requestBody": {"required": required, "content": content},
        }
        root = make.document(operation, path="/pets/{name}", method="put", version="3.1.0")
        self.problems = Problems()
        intent = read_manifest((HEAD + manifest).encode(), self.problems)
        policy = Policy(intent, form=form)
        self.plan = plan_tools(make(root).api, policy, self.problems)
        (self.tool,) = self.plan.tools

    @property
    def schema(self) -> dict[str, Any]:
        return self.tool.input_schema


def get_flat(tool: ToolPlan) -> FlatBody:
    assert tool.flat_body is not None
    return tool.flat_body


def an_object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def test_members_are_listed_like_parameters_and_required_ones_come_first(make: Any) -> None:
    schema = {**an_object(photoUrl=TEXT, age={"type": "integer"}), "required": ["photoUrl"]}

    planned = Planned(make, schema)

    assert [*planned.schema["properties"]] == ["name", "photo_url", "age", "dry_run"]
    assert planned.schema["required"] == ["name", "photo_url"]
    assert planned.schema["additionalProperties"] is False
    flat = get_flat(planned.tool)
    assert flat.members == {"age": "age", "photo_url": "photoUrl"}
    assert flat.required
    assert [it.name for it in planned.tool.arguments] == ["name", "body", "dry_run"]


def test_a_member_with_the_name_of_a_parameter_gets_another_that_says_so(make: Any) -> None:
    planned = Planned(make, an_object(name={**TEXT, "description": "The new one."}, dry_run=TEXT))

    members = get_flat(planned.tool).members
    assert members == {"body_dry_run": "dry_run", "body_name": "name"}
    told = planned.schema["properties"]["body_name"]["description"]
    assert told == "`name` of the request body. The new one."


def test_a_member_that_is_called_body_is_no_clash(make: Any) -> None:
    planned = Planned(make, an_object(body=TEXT, content_type=TEXT))

    assert get_flat(planned.tool).members == {"body": "body", "body_content_type": "content_type"}


def test_names_do_not_depend_on_the_order_of_members(make: Any) -> None:
    members = ["fooBar", "foo_bar", "foo.bar", "name"]
    one = Planned(make, an_object(**dict.fromkeys(members, TEXT))).tool
    other = Planned(make, an_object(**dict.fromkeys(reversed(members), TEXT))).tool

    assert get_flat(one).members == get_flat(other).members
    assert get_flat(one).members["foo_bar"] == "foo_bar"
    assert len(get_flat(one).members) == len(members)


def test_published_names_stay_when_a_parameter_of_that_name_is_added(make: Any) -> None:
    document = make.document(
        {
            "parameters": [{"name": "title", "in": "query", "schema": TEXT}],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": an_object(title=TEXT)}},
            },
        },
        method="post",
    )
    intent = read_manifest(HEAD.encode(), Problems())
    published = {"POST /pets": {"title": "title"}}
    policy = Policy(
        intent,
        form=FLAT,
        published_arguments={"POST /pets": frozenset({"title"})},
        published_members=published,
    )

    (tool,) = plan_tools(make(document).api, policy, Problems()).tools

    assert get_flat(tool).members == {"title": "title"}
    assert {it.wire_name: it.name for it in tool.arguments} == {"title": "query_title", "": "body"}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "array", "items": TEXT}, id="a list"),
        pytest.param({"oneOf": [an_object(a=TEXT), an_object(b=TEXT)]}, id="a choice"),
        pytest.param({**an_object(a=TEXT), "anyOf": [an_object(b=TEXT), an_object(c=TEXT)]},
                     id="an object and a choice"),
        pytest.param(TEXT, id="a text"),
        pytest.param({"type": ["object", "null"], "properties": {"a": TEXT}}, id="may be null"),
        pytest.param({"type": "object"}, id="no members"),
        pytest.param({**an_object(a=TEXT), "additionalProperties": True}, id="open"),
        pytest.param({**an_object(a=TEXT), "additionalProperties": TEXT}, id="others of a type"),
        pytest.param({**an_object(a=TEXT), "patternProperties": {"^x-": TEXT}}, id="by pattern"),
        pytest.param({**an_object(a=TEXT), "unevaluatedProperties": TEXT}, id="unevaluated"),
    ],
)  # fmt: skip
def test_other_bodies_stay_one_argument(make: Any, schema: Any) -> None:
    tool = Planned(make, schema).tool

    assert tool.flat_body is None
    assert "body" in tool.input_schema["properties"]


@pytest.mark.parametrize(
    "more",
    [{}, {"additionalProperties": False}, {"minProperties": 1}, {"not": {"required": ["a", "b"]}}],
)
def test_rules_of_the_whole_object_do_not_keep_it_nested(make: Any, more: Any) -> None:
    tool = Planned(make, {**an_object(a=TEXT, b=TEXT), **more}).tool

    assert [*get_flat(tool).members] == ["a", "b"]


def test_members_that_are_only_read_fixed_or_hidden_are_no_arguments(make: Any) -> None:
    schema = an_object(id={**TEXT, "readOnly": True}, a=TEXT, b=TEXT, c=TEXT)
    manifest = "operations: {putPet: {parameters: {body.b: {fixed: x}, body.c: {hidden: true}}}}"

    planned = Planned(make, schema, manifest=manifest)

    assert not [*planned.problems]
    assert get_flat(planned.tool).members == {"a": "a"}


def test_the_manifest_decides_for_an_operation_and_renames_a_member(make: Any) -> None:
    renamed = "operations: {putPet: {parameters: {body.a: {name: letter}}}}"
    assert get_flat(Planned(make, an_object(a=TEXT), manifest=renamed).tool).members == {
        "letter": "a"
    }

    nested = Planned(make, an_object(a=TEXT), manifest="operations: {'*': {arguments: nested}}")
    assert nested.tool.flat_body is None

    manifest = "operations: {putPet: {arguments: flat}}"
    flat = Planned(make, an_object(a=TEXT), manifest=manifest, form=ListingForm())
    assert get_flat(flat.tool).members == {"a": "a"}


def test_a_nested_body_cannot_rename_members(make: Any) -> None:
    manifest = "operations: {putPet: {parameters: {body.a: {name: letter}}}}"

    (problem,) = Planned(make, an_object(a=TEXT), manifest=manifest, form=ListingForm()).problems

    assert problem.code == "parameter-name"
    assert "arguments: flat" in problem.help


def test_an_optional_body_requires_its_members_together(make: Any) -> None:
    schema = {**an_object(a=TEXT, b=TEXT, c=TEXT), "required": ["a"]}

    planned = Planned(make, schema, required=False)

    assert planned.schema["required"] == ["name"]
    assert planned.schema["description"] == "`a` is required with `b`, `c` of the request body."
    assert planned.tool.full_input_schema is not None
    assert planned.tool.full_input_schema["properties"]["body"]["required"] == ["a"]


def test_an_optional_body_with_an_empty_example_stays_nested(make: Any) -> None:
    assert Planned(make, an_object(a=TEXT), required=False).tool.flat_body is not None
    assert Planned(make, an_object(a=TEXT), required=False, example={}).tool.flat_body is None


def test_calls_expect_no_optional_body_without_members(make: Any) -> None:
    impossible = {"type": "string", "pattern": "^a$", "maxLength": 0}

    planned = Planned(make, an_object(photo=impossible), required=False)

    (call,) = (
        case
        for case in read_cases(make_cases(planned.plan, planned.problems))
        if case.id.endswith("largest arguments")
    )
    assert call.arguments.keys() == {"name", "dry_run"}
    assert "body" not in call.expect["request"]


def test_the_description_of_the_body_names_the_arguments(make: Any) -> None:
    schema = {
        **an_object(fooBar=TEXT, b=TEXT),
        "description": "A pet.",
        "anyOf": [{"required": ["fooBar"]}, {"required": ["b"]}],
    }

    planned = Planned(make, schema)

    assert planned.schema["description"].startswith("Request body: A pet.")
    assert "Give `foo_bar`, or `b`." in planned.schema["description"]


def test_descriptions_of_members_name_others_as_arguments(make: Any) -> None:
    told = {**TEXT, "description": "With `sendAt`, not `name` or `other`."}

    listed = Planned(make, an_object(kind=told, sendAt=TEXT, name=TEXT)).schema["properties"]

    assert listed["kind"]["description"] == "With `send_at`, not `name` or `other`."


def test_null_of_a_member_stays_where_it_means_something(make: Any) -> None:
    schema = an_object(note={"type": ["string", "null"]})

    kept = Planned(make, schema, media_type="application/merge-patch+json").schema
    plain = Planned(make, schema).schema

    assert kept["properties"]["note"]["anyOf"][-1] == {"type": "null"}
    assert plain["properties"]["note"] == TEXT


def test_the_validated_schema_can_be_made_of_the_listed_one(make: Any) -> None:
    schema = {**an_object(fooBar=TEXT, b=TEXT), "required": ["b"], "additionalProperties": False}
    flat, nested = (Planned(make, schema, form=form).tool for form in (FLAT, ListingForm()))

    assert flat.full_input_schema is None
    made = get_flat(flat).nest_schema(flat.input_schema)
    assert made["properties"]["body"] == nested.input_schema["properties"]["body"]
    assert sorted(made["required"]) == sorted(nested.input_schema["required"])
