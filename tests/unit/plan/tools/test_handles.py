"""Tests of the tool that reads stored results: which servers have it, and its cost."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.render import contracts

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
HANDLES = "results: {handles: true}\n"
MOST_TOKENS = 200


class Shop:
    """An API of `number` things, each read by a tool."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def plan(
        self,
        manifest: str = "",
        *,
        number: int = 2,
        has_content: bool = True,
        is_new: bool = False,
        first: str = "r0",
    ) -> ServerPlan:
        root, problems = self._make.document(), Problems()
        content = {"application/json": {"schema": {"type": "object"}}}
        response: dict[str, Any] = {"description": "done"}
        if has_content:
            response["content"] = content
        root["paths"] = {
            f"/things{each}": {
                "get": {
                    "operationId": f"r{each}" if each else first,
                    "tags": ["things"],
                    "responses": {"200" if has_content else "204": response},
                }
            }
            for each in range(number)
        }
        intent = read_manifest((HEAD + manifest).encode(), problems)
        plan = plan_tools(self._make(root).api, Policy(intent, is_new=is_new), problems)
        assert not problems.has_errors
        return plan


@pytest.fixture
def shop(make: Any) -> Shop:
    return Shop(make)


def names(tools: Any) -> list[str]:
    return [tool["name"] for tool in tools]


def test_a_server_whose_manifest_does_not_ask_has_no_handles(shop: Shop) -> None:
    plan = shop.plan()
    assert plan.handles is None
    assert "handles" not in contracts.server_contract(plan)
    assert names(contracts.list_tools(plan)) == ["r0", "r1"]
    assert not [it for it in plan.environment if it.name == "SHOP_MAX_STORED_BYTES"]


def test_the_manifest_adds_a_small_tool_and_its_settings(shop: Shop) -> None:
    plan, without = shop.plan(HANDLES), shop.plan()
    assert plan.handles is not None
    assert contracts.server_contract(plan)["handles"] == {"tool": "read_result"}
    assert names(contracts.list_tools(plan)) == ["r0", "r1", "read_result"]
    assert estimate_tokens(plan.handles.listed) == plan.handles.token_cost <= MOST_TOKENS
    assert plan.token_cost == without.token_cost + plan.handles.token_cost
    settings = {it.name for it in plan.environment} - {it.name for it in without.environment}
    assert settings == {"SHOP_RESULT_TTL_SECONDS", "SHOP_MAX_STORED_BYTES"}


def test_results_without_content_need_no_handles(shop: Shop) -> None:
    assert shop.plan(HANDLES, has_content=False).handles is None


@pytest.mark.parametrize("taken", ["name", "alias"])
def test_the_tool_does_not_get_the_name_of_another(shop: Shop, taken: str) -> None:
    if taken == "name":
        plan = shop.plan(HANDLES, first="read_result")
    else:
        plan = shop.plan(HANDLES + "aliases: {read_result: r1}\n")
    assert plan.handles is not None
    assert plan.handles.tool == plan.handles.listed["name"] == "mcp_read_result"


def test_a_new_server_has_handles_where_they_cost_a_twentieth_of_the_list(shop: Shop) -> None:
    handles = shop.plan(HANDLES).handles
    assert handles is not None
    each = shop.plan(number=1).token_cost
    enough = -(-20 * handles.token_cost // each) + 1
    assert shop.plan(number=enough, is_new=True).handles == handles
    assert shop.plan(number=enough // 2, is_new=True).handles is None
    assert shop.plan(number=enough).handles is None
    assert shop.plan("budget: 1000\n", number=enough, is_new=True).handles is None


def test_the_tool_is_listed_beside_search_tools(shop: Shop) -> None:
    plan = shop.plan(f"{HANDLES}budget: 1000\n", number=40)
    assert plan.search is not None
    assert names(contracts.search_listing(plan, plan.search)) == [
        "call_tool",
        "describe_tool",
        "read_result",
        "search_tools",
    ]
    assert plan.handles is not None
    without = shop.plan("budget: 1000\n", number=40).search
    assert without is not None
    assert plan.search.token_cost == without.token_cost + plan.handles.token_cost
