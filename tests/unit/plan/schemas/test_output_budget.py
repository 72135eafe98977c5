"""Tests of output schemas within their budget, and of shapes that they repeat."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.ir.listing_form import NEW_SERVERS, OUTPUT_BUDGET, ListingForm
from mcpgen.jsonschema.samples import make_samples
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.plan.schemas.tool_schema import ToolSchemas

TEXT: JsonObject = {"type": "string", "description": "A text that describes itself at length."}


def an_object(**members: Any) -> JsonObject:
    return {"type": "object", "properties": members}


USER = an_object(**{f"member_{letter}": TEXT for letter in "abcdef"})
SCHEMAS: dict[str, Any] = {
    "User": {**USER, "description": "A user."},
    "Node": an_object(value=TEXT, next={"$ref": "#/$defs/Node"}),
    "Once": an_object(label=TEXT),
}
ISSUE = an_object(
    owner={"$ref": "#/$defs/User", "description": "Who owns it."},
    author={"$ref": "#/$defs/User"},
    list={"$ref": "#/$defs/Node"},
    one={"$ref": "#/$defs/Once"},
)


def list_output(schema: Any, form: ListingForm = NEW_SERVERS) -> JsonObject:
    return ToolSchemas(SCHEMAS, {}, form).output(schema).schema


def test_a_repeated_object_is_defined_once_and_others_stay_inline() -> None:
    listed = list_output(ISSUE)

    assert sorted(listed["$defs"]) == ["Node", "User"]
    assert listed["properties"]["author"] == {"$ref": "#/$defs/User"}
    owner = listed["properties"]["owner"]
    assert owner == {"$ref": "#/$defs/User", "description": "Who owns it."}
    assert "label" in listed["properties"]["one"]["properties"]
    assert estimate_tokens(listed) < estimate_tokens(list_output(ISSUE, ListingForm()))


def test_a_lock_without_a_record_lists_what_it_listed() -> None:
    listed = list_output(ISSUE, ListingForm())

    assert [*listed["$defs"]] == ["Node"]
    assert listed["properties"]["author"]["properties"] == {
        name: {"type": ["string", "null"], "description": TEXT["description"]}
        for name in sorted(USER["properties"])
    }


def test_a_small_shape_is_not_worth_a_definition() -> None:
    tiny = an_object(a={"$ref": "#/$defs/Once"}, b={"$ref": "#/$defs/Once"})
    short = {"Once": an_object(i={})}

    assert "$defs" not in ToolSchemas(short, {}, NEW_SERVERS).output(tiny).schema


def test_shapes_that_double_at_each_level_refer_to_a_recursive_one() -> None:
    schemas: dict[str, Any] = {"S0": {"$ref": "#/$defs/Node"}, "Node": SCHEMAS["Node"]}
    for level in range(1, 30):
        below = {"$ref": f"#/$defs/S{level - 1}"}
        schemas[f"S{level}"] = an_object(a=below, b=below)

    listed = ToolSchemas(schemas, {}, NEW_SERVERS).output({"$ref": "#/$defs/S4"}).schema

    assert sorted(listed["$defs"]) == ["Node", "S0", "S1", "S2", "S3"]
    large = ToolSchemas(schemas, {}, NEW_SERVERS).output({"$ref": "#/$defs/S29"}).schema
    assert estimate_tokens(large) <= NEW_SERVERS.output_budget


def test_equal_responses_share_one_schema() -> None:
    schemas = ToolSchemas(SCHEMAS, {}, NEW_SERVERS)
    responses = [{"type": "array", "items": {"$ref": "#/$defs/User"}} for _ in range(2)]

    first, second = map(schemas.output, responses)

    assert first is second


@pytest.mark.parametrize("budget", [400, 200, 100])
def test_a_schema_over_the_budget_says_less(budget: int) -> None:
    big = an_object(**{f"part_{n}": {**USER, "description": "A part."} for n in range(6)})

    listed = list_output(big, ListingForm(output_budget=budget))

    assert estimate_tokens(listed) <= budget
    assert [*listed["properties"]] == [f"part_{n}" for n in range(6)]


def test_outer_descriptions_are_the_last_to_go_and_names_stay() -> None:
    deep = an_object(**{f"m{n}": {**an_object(a=TEXT), "description": "Part."} for n in range(30)})

    listed = list_output(deep, ListingForm(output_budget=420))
    bare = list_output(deep, ListingForm(output_budget=100))

    assert listed["properties"]["m0"]["description"] == "Part."
    assert "description" not in json.dumps(bare)
    assert len(bare["properties"]) == 30


@given(st.sampled_from([100, 150, 200, 300, 1000]), st.integers(0, 3), st.booleans())
def test_every_valid_result_stays_valid(budget: int, variant: int, shares: bool) -> None:
    _, responses = make_samples(SCHEMAS)
    for schema in (ISSUE, an_object(items={"type": "array", "items": ISSUE}, more=USER)):
        value = responses.sample(schema, "largest", variant=variant)
        for form in (ListingForm(), ListingForm("nested", budget, shares)):
            assert SchemaValidator(list_output(schema, form)).is_valid(value)


def test_new_servers_have_a_smaller_budget_than_old_ones() -> None:
    assert NEW_SERVERS.output_budget < OUTPUT_BUDGET
    assert not ListingForm("flat").has_output_limits


@pytest.mark.parametrize("choice", ["anyOf", "oneOf"])
def test_a_cut_choice_with_properties_states_no_type(choice: str) -> None:
    either = {choice: [{"type": "boolean"}, {"type": "object"}], "properties": {"id": TEXT}}
    schema = an_object(either=either, **{f"other{n}": USER for n in range(9)})
    listed = list_output(schema, ListingForm(output_budget=120))
    assert listed["properties"]["either"] == {}  # and not an object: `true` is valid
    assert listed["properties"]["other0"] == {"type": ["object", "null"]}
