"""Tests that all source code from the model generator is parsed and checked."""

from __future__ import annotations

import pytest

from mcpgen.emit.models.source import UnprovenModelError, format_module, prove_definitions

HEAD = "from typing import Any, NotRequired, TypeAlias, TypedDict\n"
PET = {"type": "object", "properties": {"id": {}, "tag": {}}, "required": ["id"]}
GOOD = HEAD + "class Pet(TypedDict):\n    id: int\n    tag: NotRequired[str]\n"


def test_a_class_that_matches_its_schema_is_accepted() -> None:
    assert list(prove_definitions(GOOD, {"Pet": PET})) == ["Pet"]


@pytest.mark.parametrize(
    "source",
    [
        HEAD,
        GOOD.replace("tag:", "tag_:"),
        GOOD.replace("NotRequired[str]", "str"),
        GOOD.replace("id: int", "id: NotRequired[int]"),
        GOOD.replace("id: int", "id: int = 1"),
        GOOD.replace("id: int", "id: Unknown"),
        GOOD.replace("id: int", "id: __import__('os')"),
        GOOD.replace("(TypedDict)", "(TypedDict, total=False)"),
        GOOD.replace("(TypedDict)", "(dict)"),
        GOOD.replace("class Pet", "@decorated\nclass Pet"),
        GOOD.replace("    id: int", "    import os\n    id: int"),
        GOOD + "import os\n",
        GOOD + "from os import system\n",
        GOOD + "from typing import cast\n",
        GOOD + "print(1)\n",
        GOOD + "x = y = 1\n",
        HEAD + "Pet: TypeAlias = dict[str, Any]\n",
        HEAD + "Pet = TypedDict('Other', {'id': int, 'tag': NotRequired[str]})\n",
        HEAD + "Pet = evil('Pet', {'id': int, 'tag': NotRequired[str]})\n",
        HEAD + "Pet = TypedDict('Pet', {'id': int, **more})\n",
        "def Pet(:",
    ],
)
def test_a_definition_that_differs_from_its_schema_is_rejected(source: str) -> None:
    with pytest.raises(UnprovenModelError):
        prove_definitions(source, {"Pet": PET})


def test_the_functional_form_is_accepted_for_keys_that_are_not_identifiers() -> None:
    source = HEAD + "Pet = TypedDict('Pet', {'id': int, 'a-b': NotRequired[str]})\n"
    shape = {"type": "object", "properties": {"id": {}, "a-b": {}}, "required": ["id"]}
    assert "Pet" in prove_definitions(source, {"Pet": shape})


def test_comments_and_unknown_definitions_are_dropped() -> None:
    source = GOOD.replace("id: int", "id: int  # evil\r# more") + "Other: TypeAlias = int\n"
    definitions = prove_definitions(source, {"Pet": PET})
    text = format_module("Types.", definitions, {})
    assert "evil" not in text
    assert "Other" not in text
    assert "from typing import NotRequired, TypedDict" in text


def test_definitions_evaluated_at_import_follow_their_dependencies() -> None:
    source = (
        HEAD
        + "A: TypeAlias = list[B]\nB: TypeAlias = dict[str, C]\nclass C(TypedDict):\n    a: A\n"
    )
    shape = {"type": "object", "properties": {"a": {}}, "required": ["a"]}
    definitions = prove_definitions(source, {"A": {}, "B": {}, "C": shape})
    text = format_module("Types.", definitions, {})
    assert text.index("class C") < text.index("B: TypeAlias") < text.index("A: TypeAlias")


def test_unions_use_bars_unless_these_would_fail_at_run_time() -> None:
    source = (
        HEAD.replace("TypedDict", "TypedDict, Union")
        + "A: TypeAlias = Union[str, list['A']]\nB: TypeAlias = Union[str, 'A']\n"
    )
    definitions = prove_definitions(source, {"A": {}, "B": {}})
    text = format_module("Types.", definitions, {})
    assert "A: TypeAlias = str | list['A']" in text
    assert "B: TypeAlias = Union[str, 'A']" in text
