"""Tests of input and output schemas, as listed for clients and as used for validation."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest


def body_of(make: Any, schema: Any, **options: Any) -> Any:
    """Return the listed schema of a body."""
    return make(make.with_body(schema, **options)).tool().input_schema["properties"]["body"]


def checked(tool: Any) -> Any:
    """Return a validator of the arguments that the server accepts."""
    return jsonschema_rs.validator_for(tool.full_input_schema or tool.input_schema)


def test_a_tool_without_arguments_has_an_empty_object_schema(make: Any) -> None:
    tool = make(make.document()).tool()
    assert tool.input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert tool.full_input_schema is None


def test_parameters_are_properties_under_legal_names(make: Any) -> None:
    parameters = [
        {"name": "filter[kind]", "in": "query", "schema": {"type": "string"}},
        {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}},
    ]
    tool = make(make.with_parameters(*parameters, path="/pets/{petId}")).tool()
    own = {name: tool.input_schema["properties"][name] for name in ("pet_id", "filter_kind")}
    assert own == {"pet_id": {"type": "integer"}, "filter_kind": {"type": "string"}}
    assert tool.input_schema["required"] == ["pet_id"]
    assert [(a.name, a.wire_name, a.location) for a in tool.arguments] == [
        ("pet_id", "petId", "path"),
        ("filter_kind", "filter[kind]", "query"),
    ]


def test_the_description_of_a_parameter_overrides_that_of_its_schema(make: Any) -> None:
    root = make.with_parameters(
        {
            "name": "kind",
            "in": "query",
            "description": "Which pets.",
            "schema": {"$ref": "#/components/schemas/Kind"},
        },
        schemas={"Kind": {"type": "string", "enum": ["cat", "dog"], "description": "A kind."}},
    )
    assert make(root).tool().input_schema["properties"]["kind"] == {
        "type": "string",
        "enum": ["cat", "dog"],
        "description": "Which pets.",
    }


@pytest.mark.parametrize(
    ("schema", "listed"),
    [
        ({}, {"description": "Any JSON value."}),
        ({"type": "array"}, {"type": "array", "items": {"description": "Any JSON value."}}),
        ({"type": "integer", "format": "int64"}, {"type": "integer"}),
        ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}),
        (
            {"type": "integer", "minimum": 1, "maximum": 9},
            {"type": "integer", "minimum": 1, "maximum": 9, "description": "1 to 9."},
        ),
        (
            {"type": "string", "maxLength": 1, "description": "A letter"},
            {"type": "string", "maxLength": 1, "description": "A letter. At most 1 character."},
        ),
        ({"type": "boolean", "default": False}, {"type": "boolean", "default": False}),
        (
            {"type": "string", "title": "T", "example": "x"},
            {"type": "string", "description": "Example: `x`."},
        ),
        (
            {"type": "integer", "examples": [7, 8]},
            {"type": "integer", "description": "Example: `7`."},
        ),
        ({"type": "integer", "example": 7, "default": 7}, {"type": "integer", "default": 7}),
        ({"type": "string", "example": "string"}, {"type": "string"}),
        ({"type": "string", "example": "****"}, {"type": "string"}),
        ({"type": "string", "example": "a `b`"}, {"type": "string"}),
        ({"type": "string", "example": "x" * 61}, {"type": "string"}),
        ({"type": "boolean", "example": True}, {"type": "boolean"}),
        ({"type": "string", "enum": ["a"], "example": "a"}, {"type": "string", "enum": ["a"]}),
        (
            {"type": "string", "description": "Such as cat.", "example": "cat"},
            {"type": "string", "description": "Such as cat."},
        ),
        (
            {"type": "boolean", "deprecated": True, "description": "Old"},
            {"type": "boolean", "description": "[deprecated] Old."},
        ),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
    ],
)
def test_schemas_are_listed_in_the_portable_profile(make: Any, schema: Any, listed: Any) -> None:
    assert body_of(make, schema) == listed


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "pattern": "^(?!x)"}, "a", "xa"),
        ({"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object"}]}, {}, {"a": 1}),
        ({"not": {"type": "string"}}, 1, "a"),
        ({"type": "string", "enum": [f"v{n}" for n in range(200)]}, "v150", "w"),
        ({"type": "object", "minProperties": 1}, {"a": 1}, {}),
        ({"allOf": [{"minimum": 2}, {"oneOf": [{"type": "integer"}]}]}, 3, 1),
    ],
)
def test_constraints_that_are_not_listed_are_validated(
    make: Any, schema: Any, good: Any, bad: Any
) -> None:
    tool = make(make.with_body(schema)).tool()
    assert tool.full_input_schema is not None
    assert checked(tool).is_valid({"body": good})
    assert not checked(tool).is_valid({"body": bad})


def test_constraints_that_are_not_listed_are_described(make: Any) -> None:
    assert "Matches" in body_of(make, {"type": "string", "pattern": "^(?=a)"})["description"]
    assert "200 values" in body_of(make, {"enum": list(range(200))})["description"]
    rule = {"type": "object", "properties": {"a": {}}, "not": {"required": ["a"]}}
    assert "More rules apply" in body_of(make, rule)["description"]


def test_null_is_listed_only_if_it_differs_from_absence(make: Any) -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "nullable": True},
            "b": {"type": "string", "nullable": True},
        },
    }
    listed = body_of(make, schema)["properties"]
    assert listed["a"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert listed["b"] == {"type": "string"}
    assert body_of(make, schema, method="patch")["properties"]["b"] == listed["a"]
    assert checked(make(make.with_body(schema)).tool()).is_valid({"body": {"a": None, "b": None}})


def test_several_types_become_any_of(make: Any) -> None:
    assert body_of(make, {"type": ["string", "integer"]}, version="3.1.0") == {
        "anyOf": [{"type": "string"}, {"type": "integer"}]
    }


def test_constants_are_merged_to_one_enum(make: Any) -> None:
    schema = {
        "oneOf": [
            {"const": "asc", "description": "Upwards"},
            {"const": "desc", "description": "Downwards"},
        ]
    }
    assert body_of(make, schema, version="3.1.0") == {
        "type": "string",
        "enum": ["asc", "desc"],
        "description": "`asc`: Upwards; `desc`: Downwards.",
    }


def test_all_of_is_merged_to_one_object(make: Any) -> None:
    schema = {
        "allOf": [
            {"$ref": "#/components/schemas/Base"},
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]
    }
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert body_of(make, schema, schemas={"Base": base}) == {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    }


PET = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string"},
        "secret": {"type": "string", "writeOnly": True},
    },
}


def test_read_only_properties_are_not_arguments(make: Any) -> None:
    listed = body_of(make, {"$ref": "#/components/schemas/Pet"}, schemas={"Pet": PET})
    assert sorted(listed["properties"]) == ["name", "secret"]
    assert listed["required"] == ["name"]


def test_read_only_properties_of_a_base_are_not_required_by_its_child(make: Any) -> None:
    schema = {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["id", "name"]}]}
    tool = make(make.with_body(schema, schemas={"Pet": PET})).tool()
    assert tool.input_schema["properties"]["body"]["required"] == ["name"]
    assert checked(tool).is_valid({"body": {"name": "Rex"}})


def test_write_only_properties_are_not_in_the_output_schema(make: Any) -> None:
    tool = make(
        make.with_response({"$ref": "#/components/schemas/Pet"}, schemas={"Pet": PET})
    ).tool()
    assert sorted(tool.output_schema["properties"]) == ["id", "name"]


# Recursion and size


def test_recursion_is_kept_with_definitions(make: Any) -> None:
    node = {
        "type": "object",
        "properties": {
            "value": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        },
    }
    tool = make(
        make.with_body({"$ref": "#/components/schemas/Node"}, schemas={"Node": node})
    ).tool()
    assert tool.input_schema["properties"]["body"] == {"$ref": "#/$defs/Node"}
    tree: dict[str, Any] = {"value": "leaf"}
    for _ in range(50):
        tree = {"children": [tree]}
    assert jsonschema_rs.is_valid(tool.input_schema, {"body": tree})
    assert not jsonschema_rs.is_valid(tool.input_schema, {"body": {"children": [{"value": 1}]}})


def doubling(levels: int) -> dict[str, Any]:
    schemas: dict[str, Any] = {"S0": {"type": "string"}}
    for level in range(1, levels):
        below = {"$ref": f"#/components/schemas/S{level - 1}"}
        schemas[f"S{level}"] = {"type": "object", "properties": {"a": below, "b": below}}
    return schemas


def test_shared_schemas_never_grow_exponentially(make: Any) -> None:
    root = make.with_body({"$ref": "#/components/schemas/S29"}, schemas=doubling(30))
    tool = make(root).tool()
    assert len(json.dumps(tool.input_schema)) < 64 * 1024
    assert len(tool.input_schema["$defs"]) == 29
    assert (
        len(
            json.dumps(
                make(make.with_response({"$ref": "#/components/schemas/S29"}, schemas=doubling(30)))
                .tool()
                .output_schema
            )
        )
        < 64 * 1024
    )


def test_inline_nesting_is_truncated_at_a_depth_and_described(make: Any) -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(12):
        schema = {"type": "object", "required": ["a"], "properties": {"a": schema}}
    tool = make(make.with_body(schema)).tool()
    listed, depth = tool.input_schema, 0
    while "properties" in listed:
        (listed,) = listed["properties"].values()
        depth += 1
    assert depth <= 6
    assert "Nests further" in listed["description"]
    assert "nest further" in tool.description
    good: Any = 1
    for _ in range(12):
        good = {"a": good}
    assert checked(tool).is_valid({"body": good})
    assert not checked(tool).is_valid({"body": {"a": {"a": {}}}})


def test_huge_schema_is_listed_within_bounds(make: Any) -> None:
    wide = {f"p{n}": {"type": "string", "description": "word " * 40} for n in range(3000)}
    tool = make(make.with_body({"type": "object", "properties": wide})).tool()
    assert len(json.dumps(tool.input_schema)) < 64 * 1024
    assert not checked(tool).is_valid({"body": {"p7": 1}})


# Results


def output(make: Any, schema: Any, **options: Any) -> Any:
    tool = make(make.with_response(schema, **options)).tool()
    return tool.output_schema, tool.result_key


def test_the_output_schema_tolerates_null_and_unknown_values(make: Any) -> None:
    schema = {
        "type": "object",
        "required": ["id"],
        "additionalProperties": False,
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "kind": {"type": "string", "enum": ["a"], "format": "uuid", "description": "One. Two."},
        },
    }
    assert output(make, schema) == (
        {
            "type": "object",
            "properties": {
                "id": {"type": ["integer", "null"]},
                "kind": {"type": ["string", "null"], "description": "One."},
            },
        },
        "",
    )


@pytest.mark.parametrize(
    "schema", [{"type": "array", "items": {"type": "string"}}, {}, {"type": "string"}]
)
def test_a_result_that_is_not_an_object_is_wrapped(make: Any, schema: Any) -> None:
    listed, result_key = output(make, schema)
    assert result_key == "result"
    assert listed["type"] == "object"
    assert jsonschema_rs.is_valid(listed, {"result": None})


def test_variants_of_an_object_are_merged_to_one_object(make: Any) -> None:
    schema = {
        "oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}},
        ]
    }
    listed, result_key = output(make, schema)
    assert result_key == ""
    assert listed["type"] == "object"
    assert sorted(listed["properties"]) == ["a", "b"]
    for value in ({"a": "x"}, {"a": 1, "b": None}, {}):
        assert jsonschema_rs.is_valid(listed, value)


def test_a_choice_with_a_boolean_variant_accepts_booleans(make: Any) -> None:
    either = {
        "oneOf": [{"type": "boolean"}, {"type": "object"}],
        "properties": {"id": {"type": "string"}},
    }
    listed, _ = output(make, {"type": "object", "properties": {"envelope": either}})
    for value in (True, {"id": "x"}, None):
        assert jsonschema_rs.is_valid(listed, {"envelope": value})
    for value in (1, {"id": 1}):
        assert not jsonschema_rs.is_valid(listed, {"envelope": value})


def test_an_open_object_keeps_the_type_of_its_members(make: Any) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert output(make, schema)[0] == {
        "type": "object",
        "additionalProperties": {"type": ["integer", "null"]},
    }


def test_response_without_json_has_no_output_schema(make: Any) -> None:
    tool = make(make.document()).tool()
    assert (tool.output_schema, tool.result_key, tool.returns.source) == (None, "", "None")


def test_several_success_responses_are_merged(make: Any) -> None:
    def answer(name: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {name: {"type": "string"}}}
        return {"description": "", "content": {"application/json": {"schema": schema}}}

    tool = make(make.document({"responses": {"200": answer("a"), "202": answer("b")}})).tool()
    assert sorted(tool.output_schema["properties"]) == ["a", "b"]
    assert tool.returns.source == "object"


def test_a_long_chain_of_references_is_listed_with_definitions(make: Any) -> None:
    chain: dict[str, Any] = {"S0": {"type": "string"}}
    for level in range(1, 300):
        below = {"$ref": f"#/components/schemas/S{level - 1}"}
        chain[f"S{level}"] = {"type": "object", "properties": {"a": below}}
    tool = make(make.with_body({"$ref": "#/components/schemas/S299"}, schemas=chain)).tool()
    assert len(tool.input_schema["$defs"]) == 299
    assert tool.full_input_schema is None


def test_properties_with_names_that_clients_reject_are_renamed(make: Any) -> None:
    inner = {"type": "object", "properties": {"$ref": {"type": "string"}}}
    schema = {
        "type": "object",
        "required": ["created-at", "filter[kind]"],
        "properties": {
            "created-at": {"type": "string", "nullable": True},
            "filter[kind]": {"type": "string"},
            "nested": {"type": "array", "items": inner},
            "plain_1": {"type": "string"},
        },
        "additionalProperties": False,
    }

    tool = make(make.with_body(schema)).tool()

    listed = tool.input_schema["properties"]["body"]
    assert sorted(listed["properties"]) == ["created_at", "filter_kind", "nested", "plain_1"]
    assert listed["required"] == ["created_at", "filter_kind"]
    assert tool.wire_names == {
        "created_at": "created-at",
        "dollar_ref": "$ref",
        "filter_kind": "filter[kind]",
    }
    good = {"created_at": None, "filter_kind": "a", "nested": [{"dollar_ref": "x"}]}
    assert checked(tool).is_valid({"body": good})
    assert not checked(tool).is_valid({"body": {**good, "filter[kind]": "a"}})
    assert not checked(tool).is_valid({"body": {**good, "nested": [{"dollar_ref": 1}]}})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            {"dependentRequired": {"a-b": ["c-d"]}, "properties": {"c-d": {}, "a-b": {}}},
            {"a_b": 1, "c_d": 1},
            {"a_b": 1},
        ),
        (
            {"dependentSchemas": {"a-b": {"required": ["c-d"]}}, "properties": {"a-b": {}}},
            {"a_b": 1, "c_d": 1},
            {"a_b": 1},
        ),
        (
            {"propertyNames": {"pattern": "^[a-z-]+$"}, "properties": {"a-b": {}}},
            {"a_b": 1, "c-d": 1},
            {"c_d": 1},
        ),
        (
            {"oneOf": [{"required": ["a-b"]}, {"required": ["c-d"]}], "properties": {"a-b": {}}},
            {"a_b": 1},
            {"a_b": 1, "c_d": 1},
        ),
        (
            {"allOf": [{"properties": {"a-b": {"readOnly": True}}}, {"required": ["a-b", "c-d"]}]},
            {"c_d": 1},
            {},
        ),
    ],
)
def test_constraints_on_properties_apply_to_the_renamed_properties(
    make: Any, schema: Any, good: Any, bad: Any
) -> None:
    root = make.with_body({"type": "object", **schema}, version="3.1.0")
    tool = make(root).tool()

    assert checked(tool).is_valid({"body": good})
    assert not checked(tool).is_valid({"body": bad})
