"""Tests of former names of tools, and of names that a document introduces later."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
RESPONSES = {"200": {"description": "done"}}
ISSUED = {"GET /pets": "list_pets", "POST /pets": "add_pet"}


class Shop:
    def __init__(self, make: Any) -> None:
        self._make = make
        self.problems = Problems()

    def plan(
        self, manifest: str = "", reads: str = "listPets", writes: str = "addPet"
    ) -> ServerPlan:
        root = self._make.document()
        root["paths"] = {
            "/pets": {
                "get": {"operationId": reads, "responses": RESPONSES},
                "post": {"operationId": writes, "responses": RESPONSES},
            }
        }
        intent = read_manifest((HEAD + manifest).encode(), self.problems)
        return plan_tools(self._make(root).api, Policy(intent, ISSUED), self.problems)


@pytest.fixture
def shop(make: Any) -> Shop:
    return Shop(make)


def names(plan: ServerPlan) -> list[tuple[str, tuple[str, ...], str]]:
    return [(tool.name, tool.aliases, tool.document_name) for tool in plan.tools]


def test_a_renamed_operation_keeps_its_published_name(shop: Shop) -> None:
    assert names(shop.plan(reads="findPets")) == [
        ("add_pet", (), ""),
        ("list_pets", (), "find_pets"),
    ]


@pytest.mark.parametrize(
    "manifest",
    [
        "operations: {listPets: {expose: resource, aliases: [all_pets]}}\n",
        "operations: {listPets: {expose: resource}}\naliases: {all_pets: list_pets}\n",
    ],
)
def test_an_alias_of_a_resource_is_an_error(shop: Shop, manifest: str) -> None:
    shop.plan(manifest)
    (problem,) = shop.problems
    assert problem.code == "alias-unknown"
    assert problem.message == "alias `all_pets`: expected a tool, but `list_pets` is a resource"
    assert problem.at is not None
    assert problem.at.pointer.endswith(("/operations/listPets/aliases", "/aliases/all_pets"))


@pytest.mark.parametrize("reads", ["addPet2", "add_pet", "o" * 60])
def test_a_name_that_is_in_use_or_too_long_is_not_suggested(shop: Shop, reads: str) -> None:
    plan = shop.plan(reads=reads, writes="addPet2")
    assert "list_pets" in {tool.name for tool in plan.tools}
    assert {tool.document_name for tool in plan.tools if tool.name == "list_pets"} == {""}


def test_an_entry_sets_the_new_name_and_keeps_the_old_one_as_an_alias(shop: Shop) -> None:
    plan = shop.plan(
        "operations: {'GET /pets': {name: find_pets, aliases: [list_pets]}}", reads="findPets"
    )
    assert names(plan) == [("add_pet", (), ""), ("find_pets", ("list_pets",), "")]
    assert not list(shop.problems)


def test_aliases_map_former_names_to_current_names(shop: Shop) -> None:
    plan = shop.plan("aliases: {pets: list_pets, all_pets: list_pets}")
    assert names(plan) == [("add_pet", (), ""), ("list_pets", ("all_pets", "pets"), "")]


def test_no_new_tool_gets_the_name_of_an_alias(make: Any) -> None:
    root = make.document({"operationId": "findPets"})
    intent = read_manifest((HEAD + "aliases: {find_pets: other}").encode(), Problems())
    (tool,) = plan_tools(make(root).api, Policy(intent), Problems()).tools
    assert tool.name.startswith("find_pets_")


@pytest.mark.parametrize(
    ("manifest", "code", "help"),
    [
        ("aliases: {pets: list_pet}", "alias-unknown", "did you mean `list_pets`?"),
        ("aliases: {pets: zzz}", "alias-unknown", "use the name of a tool of this server"),
        ("aliases: {add_pet: list_pets}", "alias-collision", "remove one of them"),
        (
            "aliases: {pets: list_pets}\noperations: {addPet: {aliases: [pets]}}",
            "alias-collision",
            "remove one of them",
        ),
    ],
)
def test_an_invalid_alias_is_reported_at_its_location(
    shop: Shop, manifest: str, code: str, help: str
) -> None:
    shop.plan(manifest)
    (problem,) = shop.problems
    assert (problem.code, shop.problems.has_errors) == (code, True)
    assert problem.help.startswith(help)
    assert problem.at is not None
    assert problem.at.line >= 3
