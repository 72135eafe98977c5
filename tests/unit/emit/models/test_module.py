"""Tests of the text and the order of the classes in the module of the models."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.emit.models.module import format_module
from mcpgen.emit.models.property_types import PropertyType, ProvenTypes
from mcpgen.ir.tool_plan import ModelPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.identifiers import Identifier

TEXT = {"type": "string"}


class Types(ProvenTypes):
    """The types of references and of texts."""

    def __init__(self) -> None:
        super().__init__({}, frozenset())

    def of(self, schema: JsonObject) -> PropertyType:
        name = schema.get("$ref")
        return PropertyType(name, (Identifier(name),)) if name else PropertyType("str", ())


def write(classes: Mapping[str, Mapping[str, Any]], required: tuple[str, ...] = ()) -> str:
    models = {
        Identifier(name): ModelPlan({"properties": properties, "required": required})
        for name, properties in classes.items()
    }
    text = format_module(models, Types())
    exec(compile(text, "models.py", "exec"), {"__name__": "models"})
    return text


def test_classes_are_ordered_by_name() -> None:
    text = write({"B": {"a": {"$ref": "A"}}, "A": {"b": {"$ref": "B"}}})
    assert "class A(TypedDict):\n    b: NotRequired[B]\n\nclass B(TypedDict):\n" in text


@given(description=st.text(st.sampled_from("a '\"\\\n{%\u200b\u00e9"), min_size=1))
def test_a_description_is_the_docstring_below_its_property(description: str) -> None:
    model = ModelPlan({"properties": {"a": TEXT}}, {"a": description})
    tree = ast.parse(format_module({Identifier("A"): model}, Types()))
    (made,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert ast.unparse(made.body[1]) == ast.unparse(ast.Expr(ast.Constant(description)))
    assert ast.literal_eval(ast.unparse(made.body[1])) == description


@pytest.mark.parametrize("key", ["a-b", "class", "", "__mangled", "\N{LATIN SMALL LIGATURE FI}"])
def test_a_key_that_a_class_cannot_have_is_written_as_a_string(key: str) -> None:
    assert f"A = TypedDict('A', {{\n    {key!r}: NotRequired[str],\n}})" in write(
        {"A": {key: TEXT}}
    )


def test_a_call_follows_the_classes_in_it() -> None:
    text = write({"A": {"a-b": {"$ref": "B"}}, "B": {"b-c": {"$ref": "C"}}, "C": {"c": TEXT}})
    assert text.index("class C") < text.index("B = TypedDict") < text.index("A = TypedDict")
    assert "'a-b': NotRequired[B]" in text


def test_a_class_that_is_not_defined_yet_is_quoted_in_a_call() -> None:
    text = write({"A": {"a-b": {"$ref": "A"}}}, required=("a-b",))
    assert "'a-b': 'A'," in text


def test_required_keys_of_a_call_are_known_at_run_time() -> None:
    namespace: dict[str, Any] = {"__name__": "models"}
    models = {
        Identifier("A"): ModelPlan(
            {"properties": {"a-b": {"$ref": "A"}, "c": TEXT}, "required": ["c"]}
        )
    }
    exec(compile(format_module(models, Types()), "models.py", "exec"), namespace)
    assert namespace["A"].__required_keys__ == {"c"}
    assert namespace["A"].__optional_keys__ == {"a-b"}


def test_only_needed_names_are_imported() -> None:
    assert "from typing import TypedDict\n" in write({"A": {"a": TEXT}}, required=("a",))
    assert "from typing import NotRequired, TypedDict\n" in write({"A": {"a": TEXT}})
