"""Tests that all source code from the model generator is parsed and checked."""

from __future__ import annotations

import pytest

from mcpgen.emit.models.property_types import DistinctTypes, PropertyType, UnprovenTypeError
from mcpgen.text.identifiers import Identifier

HEAD = "from __future__ import annotations\nfrom typing import Any, Literal, TypedDict\n"
PETS = {"type": "array", "items": {"$ref": "#/$defs/Pet"}}
OWNERS = {"type": "array", "items": {"$ref": "#/$defs/Owner"}}
GOOD = (
    HEAD
    + "class Holder(TypedDict):\n    key_0: list[Class0]\n    key_1: str\n"
    + "class Class0(TypedDict):\n    key: Any\n"
)


def types() -> DistinctTypes:
    return DistinctTypes([PETS, OWNERS, {"type": "string"}])


def test_types_that_differ_only_in_their_classes_are_requested_once() -> None:
    definitions = types().definitions
    assert definitions.keys() == {"Holder", "Class0"}
    assert definitions["Holder"] == {
        "type": "object",
        "properties": {
            "key_0": {"type": "array", "items": {"$ref": "#/$defs/Class0"}},
            "key_1": {"type": "string"},
        },
        "required": ["key_0", "key_1"],
    }


def test_a_type_has_its_own_classes_in_place_of_the_placeholders() -> None:
    proven = types().read(GOOD)
    assert proven.of(PETS) == PropertyType("list[Pet]", (Identifier("Pet"),))
    assert proven.of(OWNERS) == PropertyType("list[Owner]", (Identifier("Owner"),))
    assert proven.of({"type": "string"}) == PropertyType("str", ())


def test_classes_of_one_type_have_placeholders_in_their_order() -> None:
    mixed = {"anyOf": [{"$ref": "#/$defs/B"}, OWNERS, {"$ref": "#/$defs/B"}, {"type": "null"}]}
    distinct = DistinctTypes([mixed])
    assert distinct.definitions["Holder"]["properties"]["key_0"]["anyOf"][:2] == [
        {"$ref": "#/$defs/Class0"},
        {"type": "array", "items": {"$ref": "#/$defs/Class1"}},
    ]
    source = HEAD + "class Holder(TypedDict):\n    key_0: Class0 | list[Class1] | None\n"
    typed = distinct.read(source).of(mixed)
    assert (typed.source, typed.classes) == ("B | list[Owner] | None", ("B", "Owner"))


def test_a_literal_that_is_called_like_a_placeholder_stays() -> None:
    literal = {"anyOf": [{"enum": ["Class0", 1]}, {"$ref": "#/$defs/Pet"}]}
    distinct = DistinctTypes([literal])
    source = HEAD + 'class Holder(TypedDict):\n    key_0: Literal["Class0", 1] | Class0\n'
    assert distinct.read(source).of(literal).source == "Literal['Class0', 1] | Pet"


def test_only_names_that_the_types_have_are_imported() -> None:
    assert types().read(GOOD).imports == frozenset()
    anything = HEAD + "class Holder(TypedDict):\n    key_0: dict[str, Any]\n"
    assert DistinctTypes([{}]).read(anything).imports == {"Any"}


@pytest.mark.parametrize(
    "source",
    [
        "",
        HEAD,
        GOOD.replace("key_1", "key_2"),
        GOOD.replace("    key_1: str\n", ""),
        GOOD.replace("str", "NotRequired[str]"),
        GOOD.replace("str", "str = 1"),
        GOOD.replace("str", "Unknown"),
        GOOD.replace("list[Class0]", "list[Class1]"),
        GOOD.replace("str", "__import__('os')"),
        GOOD.replace("str", "Literal[__import__('os')]"),
        GOOD.replace("str", "list[__import__('os')]"),
        GOOD.replace("str", "str & str"),
        GOOD.replace("str", "'str'"),
        GOOD.replace("    key_1", "    import os\n    key_1"),
        GOOD + "import os\n",
        GOOD + "from os import system\n",
        GOOD + "from typing import cast\n",
        GOOD + "from typing import Any as str\n",
        GOOD + "print(1)\n",
        GOOD + "x = 1\n",
        GOOD + "Holder = TypedDict('Holder', {})\n",
        "def Pet(:",
    ],
)
def test_a_source_that_differs_from_the_request_is_rejected(source: str) -> None:
    with pytest.raises(UnprovenTypeError):
        types().read(source)


def test_comments_and_other_classes_are_dropped() -> None:
    source = GOOD.replace("key_1: str", "key_1: str  # evil\r# more") + "class Other:\n    evil()\n"
    assert types().read(source).of({"type": "string"}).source == "str"
