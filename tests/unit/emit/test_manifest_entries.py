"""Tests that setting single values of a manifest changes nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from mcpgen.emit.manifest_entries import set_values
from mcpgen.emit.manifest_text import ManifestEditError

HEAD = "# Mine.\nserver: {name: shop}  # the shop\nsources: [{document: a.yaml}]\n"


def edit(text: str, **values: Any) -> str:
    return set_values(
        text.encode(), {tuple(key.split("__")): it for key, it in values.items()}
    ).decode()


def test_a_missing_mapping_is_added_at_the_end() -> None:
    text = edit(HEAD, operations__listPets__name="find_pets")
    assert text == HEAD + "operations:\n  listPets:\n    name: find_pets\n"


def test_keys_that_need_quotes_get_them() -> None:
    text = set_values(HEAD.encode(), {("operations", "GET /pets/{id}", "name"): "on"}).decode()
    assert text.endswith('operations:\n  "GET /pets/{id}":\n    name: "on"\n')


ENTRY = (
    f"{HEAD}operations:\n    listPets:  # the list\n        title: Pets\n\n"
    "# The end.\nbudget: 9000 # low\n"
)


def test_an_entry_keeps_its_comments_and_indentation() -> None:
    text = edit(ENTRY, operations__listPets__name="find_pets")
    assert text == ENTRY.replace("title: Pets\n", "title: Pets\n        name: find_pets\n")


def test_an_existing_value_is_replaced_on_its_line() -> None:
    assert edit(ENTRY, budget=5000) == ENTRY.replace("9000 # low", "5000 # low")


@pytest.mark.parametrize("empty", ["operations:\n", "operations: {}\n", "operations: ~  # none\n"])
def test_an_empty_mapping_is_filled(empty: str) -> None:
    text = edit(HEAD + empty + "budget: 9000\n", operations__a__name="b")
    assert yaml.safe_load(text)["operations"] == {"a": {"name": "b"}}
    assert text.startswith(HEAD)
    assert text.endswith("budget: 9000\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("operations: {a: {title: A}}", "operations: {a: {title: A, name: b}}"),
        ('operations: {"x": {}, a: {title: A} }', 'operations: {"x": {}, a: {title: A, name: b} }'),
    ],
)
def test_a_flow_mapping_stays_one(before: str, after: str) -> None:
    assert edit(f"{HEAD}{before}\n", operations__a__name="b") == f"{HEAD}{after}\n"


def test_several_values_are_set_at_once() -> None:
    text = edit(HEAD, operations__a__name="b", operations__a__aliases=["a"], budget=1000)
    assert yaml.safe_load(text)["operations"] == {"a": {"name": "b", "aliases": ["a"]}}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_and_a_byte_order_mark_stay(newline: str) -> None:
    before = ("\ufeff" + HEAD).replace("\n", newline).encode()
    after = set_values(before, {("budget",): 1000})
    assert after == before + f"budget: 1000{newline}".encode()


def test_a_missing_line_end_is_added() -> None:
    assert edit(HEAD.rstrip("\n"), budget=1000) == HEAD + "budget: 1000"


def test_comments_after_the_last_entry_stay_there() -> None:
    text = HEAD + "# operations:\n#   listPets: {}\n"
    assert edit(text, budget=1000) == HEAD + "budget: 1000\n" + "# operations:\n#   listPets: {}\n"


@pytest.mark.parametrize(
    "text",
    [
        "- a\n",
        "operations: [1]\n",
        "operations: yes\n",
        "operations: {a: &x {title: A}, b: *x}\n",
        "operations: {a: {name: |\n  b\n",
        "budget:\n  a: 1\n  b: 2\n",
        "a: [\n",
    ],
)
def test_what_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(ManifestEditError):
        set_values(text.encode(), {("operations", "a", "name"): "c", ("budget",): 1000})
