"""Schemas reduced to what a TypedDict can say."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.emit.models.shapes import ANYTHING, reduce_definitions, union
from mcpgen.text.identifiers import Identifier

STRING = {"type": "string"}


def shapes(**definitions: Any) -> dict[str, Any]:
    named = {Identifier(name): schema for name, schema in definitions.items()}
    return reduce_definitions(named)[0]


def an_object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def test_only_the_shape_remains() -> None:
    schema = an_object(
        "b",
        b={"type": "string", "pattern": "^x", "minLength": 1, "default": "x", "description": "d"},
        a={"type": "integer", "format": "int64", "maximum": 3},
    )
    schema["x-python-type"] = "os.system"
    assert shapes(A=schema) == {"A": an_object("b", a={"type": "integer"}, b=STRING)}


def test_properties_are_ordered_by_name_whatever_the_document_says() -> None:
    [shape] = shapes(A=an_object(z=STRING, a=STRING)).values()
    assert list(shape["properties"]) == ["a", "z"]


def test_a_nested_object_is_lifted_and_named_after_its_place() -> None:
    found = shapes(Pet=an_object(home_address=an_object(zip=STRING)))
    assert found == {
        "Pet": an_object(home_address={"$ref": "#/$defs/PetHomeAddress"}),
        "PetHomeAddress": an_object(zip=STRING),
    }


def test_a_lifted_name_leaves_taken_ones_alone() -> None:
    found = shapes(Pet=an_object(owner=an_object(a=STRING)), PetOwner=STRING)
    assert found["PetOwner"] == STRING
    assert found["Pet"]["properties"]["owner"] == {"$ref": "#/$defs/PetOwner2"}


def test_a_very_long_name_is_cut_and_stays_distinct() -> None:
    deep: dict[str, Any] = an_object(leaf=STRING)
    for _ in range(6):
        deep = an_object(a_rather_long_property_name=deep, another_rather_long_property_name=deep)
    names = list(shapes(A=deep))
    assert max(map(len, names)) <= 82
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        (True, ANYTHING),
        ({}, ANYTHING),
        ({"type": "array", "items": STRING}, {"type": "array", "items": STRING}),
        ({"type": "array"}, {"type": "array", "items": ANYTHING}),
        (
            {"type": "array", "prefixItems": [STRING], "items": STRING},
            {"type": "array", "items": ANYTHING},
        ),
        ({"type": "object"}, {"type": "object", "additionalProperties": ANYTHING}),
        (
            {"type": "object", "additionalProperties": STRING},
            {"type": "object", "additionalProperties": STRING},
        ),
        (
            {"type": ["integer", "null", "string"]},
            {"anyOf": [{"type": "integer"}, STRING, {"type": "null"}]},
        ),
        ({"enum": ["a", "b", "a"]}, {"enum": ["a", "b"]}),
        ({"enum": ["a", None]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        ({"enum": [1, True]}, {"enum": [1, True]}),
        ({"enum": [1.5, 2], "type": "number"}, {"type": "number"}),
        ({"enum": [{"a": 1}]}, ANYTHING),
        ({"enum": ["\ud800"], "type": "string"}, STRING),
        ({"const": "x"}, {"enum": ["x"]}),
        ({"oneOf": [STRING, {"type": "null"}]}, {"anyOf": [STRING, {"type": "null"}]}),
        ({"anyOf": [STRING, {}]}, ANYTHING),
        ({"allOf": [STRING, {"description": "d"}]}, STRING),
        ({"allOf": [STRING, {"enum": ["a"]}]}, ANYTHING),
        ({"$ref": "#/$defs/Gone"}, ANYTHING),
        ({"$ref": "https://evil.example/x.json"}, ANYTHING),
    ],
)
def test_each_form_of_schema(schema: Any, shape: dict[str, Any]) -> None:
    assert shapes(A=schema) == {"A": shape}


def test_a_reference_wrapped_for_its_description_stays_a_reference() -> None:
    found = shapes(
        A=an_object(b={"allOf": [{"$ref": "#/$defs/B"}], "description": "d"}),
        B=an_object(x=STRING),
    )
    assert found["A"] == an_object(b={"$ref": "#/$defs/B"})


def test_the_parts_of_an_all_of_become_one_object() -> None:
    found = shapes(
        Base=an_object("id", id=STRING),
        Pet={"allOf": [{"$ref": "#/$defs/Base"}, an_object("name", name=STRING)]},
    )
    assert found["Pet"] == an_object("id", "name", id=STRING, name=STRING)


def test_an_object_that_may_be_null_is_lifted_beside_null() -> None:
    schema = an_object(a=STRING) | {"type": ["object", "null"]}
    found = shapes(A=an_object(b=schema), C=schema)
    assert found["A"]["properties"]["b"] == {"anyOf": [{"$ref": "#/$defs/AB"}, {"type": "null"}]}
    assert found["C"] == {"anyOf": [{"$ref": "#/$defs/CObject"}, {"type": "null"}]}


def test_an_all_of_cycle_ends() -> None:
    found = shapes(
        A={"allOf": [{"$ref": "#/$defs/B"}, an_object(a=STRING)]},
        B={"allOf": [{"$ref": "#/$defs/A"}, an_object(b=STRING)]},
    )
    assert found["A"] in (ANYTHING, an_object(a=STRING), an_object(a=STRING, b=STRING))


def test_inline_nesting_that_multiplies_is_bounded() -> None:
    definitions: dict[str, Any] = {"A0": an_object(x=STRING)}
    for n in range(1, 30):
        part = {"allOf": [{"$ref": f"#/$defs/A{n - 1}"}, an_object(own=STRING)]}
        definitions[f"A{n}"] = an_object(left=part, right=part)
    assert len(shapes(**definitions)) < 30 * 520


def test_a_union_is_flat_with_null_at_its_end() -> None:
    inner = union([{"type": "null"}, STRING])
    assert union([inner, {"type": "integer"}, STRING]) == {
        "anyOf": [STRING, {"type": "integer"}, {"type": "null"}]
    }
