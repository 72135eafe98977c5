"""Tests of settings of operations in the manifest, in the plan."""

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
ISSUED = {"GET /pets": "list_pets"}


class Shop:
    def __init__(self, make: Any) -> None:
        root = make.document()
        root["paths"] = {
            "/pets": {
                "get": {
                    "operationId": "listPets",
                    "tags": ["pets"],
                    "summary": "List pets",
                    "responses": RESPONSES,
                    "x-public": True,
                },
                "post": {"operationId": "addPet", "tags": ["pets"], "responses": RESPONSES},
            },
            "/orders/{id}": {"get": {"tags": ["shop"], "responses": RESPONSES, "x-tier": "gold"}},
        }
        self.lowered = make(root)
        self.problems = Problems()

    def plan(self, manifest: str, issued: dict[str, str] | None = None) -> ServerPlan:
        intent = read_manifest((HEAD + manifest).encode(), self.problems)
        return plan_tools(self.lowered.api, Policy(intent, issued or {}), self.problems)

    def names(self, manifest: str) -> list[str]:
        return [tool.name for tool in self.plan(manifest).tools]


@pytest.fixture
def shop(make: Any) -> Shop:
    return Shop(make)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ("[{exclude: addPet}, {include: pets}]", ["list_pets"]),
        ("[{include: pets}, {exclude: addPet}]", ["add_pet", "list_pets"]),
        ("[{include: {tag: pets, method: get}}]", ["list_pets"]),
        ("[{exclude: {path: /pets}}]", ["get_order"]),
        ("[{include: {operationId: 'add*'}}]", ["add_pet"]),
        ("[{include: {extension: x-public}}]", ["list_pets"]),
        ("[{include: {extension: x-tier=gold}}]", ["get_order"]),
        ("[{exclude: {extension: x-tier=gold}}]", ["add_pet", "list_pets"]),
    ],
)
def test_the_first_matching_rule_decides(shop: Shop, rules: str, names: list[str]) -> None:
    assert shop.names(f"select: {rules}") == names
    assert not list(shop.problems)


def test_a_rule_without_a_match_is_an_error_at_its_location(shop: Shop) -> None:
    shop.plan("select: [{include: pets}, {exclude: {method: PUT}}]")
    (problem,) = shop.problems
    assert problem.code == "selector-without-match"
    assert problem.at is not None
    assert (problem.at.line, problem.at.pointer) == (3, "/select/1")


def test_an_entry_sets_name_title_description_and_annotations(shop: Shop) -> None:
    plan = shop.plan(
        """
operations:
  listPets:
    name: find_pets
    title: Find pets
    description: Finds pets that can be bought. Use it first.
    append: Ask for at most ten.
    annotations: {openWorldHint: false}
""",
        ISSUED,
    )
    (tool,) = [tool for tool in plan.tools if tool.operation.key == "GET /pets"]
    assert (tool.name, tool.title) == ("find_pets", "Find pets")
    assert tool.description == (
        "Finds pets that can be bought.\nUse it first. Ask for at most ten."
    )
    assert tool.annotations["openWorldHint"] is False
    assert tool.annotations["readOnlyHint"] is True


def test_an_operation_is_turned_off_by_its_key(shop: Shop) -> None:
    plan = shop.plan("operations: {'GET /pets': {expose: 'off'}}")
    assert [tool.name for tool in plan.tools] == ["add_pet", "get_order"]
    (left_out,) = plan.unselected
    assert (left_out.operation, left_out.reason) == ("GET /pets", "`expose: off` in `operations`")


@pytest.mark.parametrize(
    ("operations", "code", "help"),
    [
        ("{listPet: {title: x}}", "operation-unknown", "did you mean `listPets`?"),
        ("{'GET /pet': {title: x}}", "operation-unknown", "did you mean `GET /pets`?"),
        ("{listPets: {title: x}, 'GET /pets': {title: y}}", "operation-twice", "join"),
        ("{listPets: {name: a}, addPet: {name: a}}", "name-collision", "name of its own"),
        ("{listPets: {name: add_pet}, addPet: {}}", None, ""),
    ],
)
def test_an_invalid_entry_is_reported(
    shop: Shop, operations: str, code: str | None, help: str
) -> None:
    plan = shop.plan(f"operations: {operations}")
    found = [(problem.code, problem.help) for problem in shop.problems]
    if code is None:
        assert not found
        assert len({tool.name for tool in plan.tools}) == 3
    else:
        assert [each for each in found if each[0] == code and help in each[1]]
        assert shop.problems.has_errors


def test_title_and_instructions_come_from_the_manifest(make: Any) -> None:
    text = "server: {name: shop, title: The shop, instructions: Be kind.}\nsources: [{document: a}]"
    intent = read_manifest(text.encode(), Problems())
    plan = plan_tools(make(make.document()).api, Policy(intent), Problems())
    assert (plan.title, plan.instructions) == ("The shop", "Be kind.")
