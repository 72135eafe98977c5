"""Tests of converting schemas of every version to the 2020-12 dialect."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest


def lowered(make: Any, schema: Any, version: str = "3.0.3", **schemas: Any) -> Any:
    found = make(make.with_body(schema, version=version, schemas=schemas))
    return found.api.operations[0].request_body.content[0].schema


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        (
            {"type": "integer", "maximum": 9, "exclusiveMaximum": False},
            {"type": "integer", "maximum": 9},
        ),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        (
            {"type": "array", "items": [{"type": "string"}]},
            {"type": "array", "prefixItems": [{"type": "string"}]},
        ),
        ({"type": "String"}, {"type": "string"}),
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "any"}, {}),
        ({"type": "string", "x-go": 1, "externalDocs": {"url": "u"}}, {"type": "string"}),
        ({"required": ["a", "a"]}, {"required": ["a"]}),
        ({"required": True, "type": "string"}, {"type": "string"}),
        ({"type": "string", "minLength": "3"}, {"type": "string", "minLength": 3}),
        ({"type": "string", "minLength": -1}, {"type": "string"}),
        ({"type": "number", "multipleOf": 0}, {"type": "number"}),
        ({"type": "string", "pattern": "["}, {"type": "string"}),
        ({"type": "integer", "default": "1"}, {"type": "integer"}),
        ({"type": "string", "minLength": 3, "maxLength": 2}, {"type": "string"}),
        ({"type": "boolean", "deprecated": False}, {"type": "boolean"}),
        (
            {"type": "object", "properties": {"a": None}},
            {"type": "object", "properties": {"a": True}},
        ),
    ],
)
def test_schema_keywords_are_normalised(make: Any, written: Any, meant: Any) -> None:
    assert lowered(make, written) == meant


def test_keywords_of_3_1_are_unchanged(make: Any) -> None:
    schema = {
        "type": ["string", "null"],
        "const": "a",
        "exclusiveMinimum": 2,
        "if": {"minLength": 1},
        "then": {"maxLength": 9},
        "dependentRequired": {"a": ["b"]},
        "examples": ["a"],
    }
    assert lowered(make, schema, "3.1.0") == schema


def test_keywords_of_3_0_in_3_1_are_repaired_and_reported(make: Any) -> None:
    schema = {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "nullable": True}
    found = make(make.with_body(schema, version="3.1.0"))
    (operation,) = found.api.operations
    assert operation.request_body.content[0].schema == {
        "type": ["integer", "null"],
        "exclusiveMinimum": 1,
    }
    assert [problem.at.pointer.rsplit("/", 1)[-1] for problem in found.found("schema-keyword")] == [
        "exclusiveMinimum",
        "nullable",
    ]


def test_nullable_composition_accepts_null(make: Any) -> None:
    schema = {"allOf": [{"$ref": "#/components/schemas/Pet"}], "nullable": True}
    assert lowered(make, schema, Pet={"type": "object"}) == {
        "anyOf": [{"$ref": "#/$defs/Pet"}, {"type": "null"}]
    }


def test_only_the_description_beside_a_reference_is_kept_in_3_0(make: Any) -> None:
    schema = {"$ref": "#/components/schemas/Pet", "description": "Mine", "maxProperties": 1}
    assert lowered(make, schema, Pet={}) == {"$ref": "#/$defs/Pet", "description": "Mine"}
    assert lowered(make, schema, "3.1.0", Pet={})["maxProperties"] == 1


# References


def schemas_of(make: Any, schema: Any, **options: Any) -> Any:
    return make(make.with_body(schema, **options)).api.schemas


def test_only_schemas_that_are_needed_are_kept(make: Any) -> None:
    components = {
        "Pet": {"properties": {"owner": {"$ref": "#/components/schemas/Owner"}}},
        "Owner": {"type": "object"},
        "Unused": {"type": "object"},
    }
    found = schemas_of(make, {"$ref": "#/components/schemas/Pet"}, schemas=components)
    assert sorted(found) == ["Owner", "Pet"]
    assert found["Pet"]["properties"]["owner"] == {"$ref": "#/$defs/Owner"}


def test_cyclic_schema_stays_a_reference(make: Any) -> None:
    node = {"properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    found = schemas_of(make, {"$ref": "#/components/schemas/Node"}, schemas={"Node": node})
    assert found == {"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}}


def test_a_reference_into_another_schema_is_named_after_its_pointer(make: Any) -> None:
    components = {"Pet": {"properties": {"owner": {"type": "object"}}}}
    found = schemas_of(
        make, {"$ref": "#/components/schemas/Pet/properties/owner"}, schemas=components
    )
    assert found == {"Pet_owner": {"type": "object"}}


def test_reference_into_another_file_is_named_after_its_schema(make: Any) -> None:
    files = {"schemas/pet.yaml": {"type": "object"}, "all.yaml": {"defs": {"Toy": {}}}}
    root = make.with_body(
        {
            "properties": {
                "pet": {"$ref": "#/x-mcpgen-files/schemas~1pet.yaml"},
                "toy": {"$ref": "#/x-mcpgen-files/all.yaml/defs/Toy"},
            }
        },
        **{"x-mcpgen-files": files},
    )
    assert sorted(make(root).api.schemas) == ["defs_Toy", "pet"]


def test_colliding_schema_names_are_made_unique_in_any_order(make: Any) -> None:
    components = {"Pet": {"title": "1"}, "pet": {"title": "2"}, "a b": {"title": "3"}}
    schema = {
        "properties": {
            str(index): {"$ref": f"#/components/schemas/{name}"}
            for index, name in enumerate(components)
        }
    }
    found = schemas_of(make, schema, schemas=components)
    shuffled = schemas_of(make, schema, schemas=dict(reversed(components.items())))
    assert found == shuffled
    assert len({name.lower() for name in found}) == 3
    assert found["a_b"] == {"title": "3"}


def test_all_of_with_one_reference_is_replaced_by_the_reference(make: Any) -> None:
    schema = {"allOf": [{"$ref": "#/components/schemas/Pet"}], "description": "Mine"}
    assert lowered(make, schema, Pet={}) == {"$ref": "#/$defs/Pet", "description": "Mine"}


def test_a_very_deep_schema_is_truncated_and_reported(make: Any) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    found = make(make.with_body(schema))
    assert found.found("schema-too-deep")
    assert len(found.api.operations) == 1


def test_a_dynamic_reference_resolves_to_the_only_anchor_of_that_name(make: Any) -> None:
    tree = {
        "$dynamicAnchor": "node",
        "properties": {"children": {"items": {"$dynamicRef": "#node"}}},
    }
    found = schemas_of(
        make, {"$ref": "#/components/schemas/Tree"}, version="3.1.0", schemas={"Tree": tree}
    )
    assert found["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


# Discriminators


PETS = {
    "Cat": {"type": "object", "properties": {"kind": {"type": "string"}}},
    "Dog": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["dog"]}}},
}


def test_discriminator_becomes_a_constant_of_each_variant(make: Any) -> None:
    schema = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {"feline": "#/components/schemas/Cat", "dog": "Dog"},
        },
    }
    found = lowered(make, schema, **PETS)
    assert found == {
        "oneOf": [
            {
                "$ref": "#/$defs/Cat",
                "required": ["kind"],
                "properties": {"kind": {"const": "feline"}},
            },
            {"$ref": "#/$defs/Dog", "required": ["kind"]},
        ]
    }


def test_a_discriminator_without_a_mapping_uses_schema_names(make: Any) -> None:
    schema = {
        "anyOf": [{"$ref": "#/components/schemas/Cat"}],
        "discriminator": {"propertyName": "kind"},
    }
    (variant,) = lowered(make, schema, **PETS)["anyOf"]
    assert variant["properties"] == {"kind": {"const": "Cat"}}


def test_default_variant_needs_no_constant(make: Any) -> None:
    schema = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "defaultMapping": "Cat"},
    }
    assert lowered(make, schema, "3.2.0", **PETS)["oneOf"] == [
        {"$ref": "#/$defs/Cat"},
        {"$ref": "#/$defs/Dog", "required": ["kind"]},
    ]


def test_a_base_that_refers_to_its_children_is_made_finite(make: Any) -> None:
    def child(name: str) -> dict[str, Any]:
        return {
            "allOf": [
                {"$ref": "#/components/schemas/Zoo"},
                {"properties": {name: {"type": "string"}}},
            ]
        }

    components = {
        "Zoo": {
            "type": "object",
            "required": ["kind"],
            "oneOf": [{"$ref": "#/components/schemas/Ape"}, {"$ref": "#/components/schemas/Bat"}],
        },
        "Ape": child("arms"),
        "Bat": child("wings"),
    }
    found = make(make.with_body({"$ref": "#/components/schemas/Zoo"}, schemas=components))
    assert found.found("circular-composition")
    schemas = found.api.schemas
    assert len(schemas["Zoo"]["oneOf"]) == 2
    assert schemas["Ape"]["allOf"][0] == {"type": "object", "required": ["kind"]}
    validator = jsonschema_rs.validator_for({"$ref": "#/$defs/Zoo", "$defs": schemas})
    assert not validator.is_valid({"arms": 2})
