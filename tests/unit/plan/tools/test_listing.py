"""Tests of listed tools: all within the budget, three above it, and those of toolsets."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.search_index import make_index

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
SMALL = "budget: 1000\n"
KINDS = 16


class Shop:
    """Kinds of things; tools of one tag read them, and tools of another tag delete them."""

    def __init__(self, make: Any) -> None:
        self._make = make
        self.problems = Problems()

    def plan(self, manifest: str = "", **names: str) -> ServerPlan:
        root = self._make.document()
        root["paths"] = {
            f"/things{number}": {
                "get": operation(names.get(f"get{number}", f"readThing{number}"), "Reading"),
                "delete": operation(f"dropThing{number}", "Dropping things"),
            }
            for number in range(KINDS)
        }
        intent = read_manifest((HEAD + manifest).encode(), self.problems)
        return plan_tools(self._make(root).api, Policy(intent), self.problems)

    def found(self) -> list[tuple[str, str]]:
        """Return the rule and the help of each problem."""
        return [(problem.code, problem.help) for problem in self.problems]


def operation(name: str, tag: str) -> dict[str, Any]:
    done = {"200": {"description": "done"}}
    return {"operationId": name, "tags": [tag], "responses": done}


@pytest.fixture
def shop(make: Any) -> Shop:
    return Shop(make)


def list_search_settings(plan: ServerPlan) -> list[str]:
    names = (variable.name for variable in plan.environment)
    return [name for name in names if name.endswith(("TOOLSET", "SEARCH_MODEL"))]


def test_within_the_budget_no_search_tools_are_added(shop: Shop) -> None:
    plan = shop.plan(f"budget: {shop.plan().token_cost}\n")
    assert plan.search is None
    assert list_search_settings(plan) == []


def test_above_the_budget_three_search_tools_are_listed(shop: Shop) -> None:
    plan = shop.plan(f"budget: {shop.plan().token_cost - 1}\n")
    assert plan.search is not None
    assert [tool["name"] for tool in plan.search.tools] == [
        "search_tools",
        "describe_tool",
        "call_tool",
    ]
    found = make_index(plan)
    assert found is not None
    assert [entry.name for entry in found.entries] == [tool.name for tool in plan.tools]
    assert list_search_settings(plan) == ["SHOP_TOOLSET", "SHOP_SEARCH_MODEL"]


@pytest.mark.parametrize("taken", ["search_tools", "call_tool"])
def test_search_tools_do_not_get_the_name_of_a_tool(shop: Shop, taken: str) -> None:
    plan = shop.plan(SMALL, get0=taken)
    assert taken in {tool.name for tool in plan.tools}
    assert plan.search is not None
    assert (plan.search.search, plan.search.describe, plan.search.call) == (
        "mcp_search_tools",
        "mcp_describe_tool",
        "mcp_call_tool",
    )
    assert "`mcp_call_tool`" in plan.search.tools[0]["description"]


def test_search_tools_do_not_get_the_name_of_an_alias(shop: Shop) -> None:
    plan = shop.plan(SMALL + "aliases: {describe_tool: read_thing1}\n")
    assert plan.search is not None
    assert plan.search.describe == "mcp_describe_tool"


def test_call_tool_is_read_only_if_all_tools_are_read_only(shop: Shop) -> None:
    plan = shop.plan("budget: 1000\nselect: [{include: {method: GET}}]\n")
    assert plan.search is not None, plan.token_cost
    hints = plan.search.tools[2]["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"]) == (True, False)


def test_each_tag_is_a_toolset_and_the_manifest_adds_others(shop: Shop) -> None:
    plan = shop.plan(
        "toolsets:\n"
        "  some: {description: A few., tools: [read_thing1, dropThing2, GET /things3]}\n"
        "  both: {tags: [Reading], tools: [drop_thing1]}\n"
    )
    toolsets = {toolset.name: toolset for toolset in plan.toolsets}
    assert list(toolsets) == ["both", "dropping_things", "reading", "some"]
    assert toolsets["some"].tools == ("drop_thing2", "read_thing1", "read_thing3")
    assert toolsets["some"].description == "A few."
    assert len(toolsets["both"].tools) == KINDS + 1


@pytest.mark.parametrize(
    ("entry", "help_text"),
    [
        ("{tags: [Readin]}", "did you mean `Reading`?"),
        ("{tools: [read_thing]}", "did you mean `read_thing"),
    ],
)
def test_a_toolset_with_an_unknown_entry_is_an_error(
    shop: Shop, entry: str, help_text: str
) -> None:
    shop.plan(f"toolsets:\n  some: {entry}\n")
    ((code, said),) = shop.found()
    assert code == "toolset-unknown"
    assert said.startswith(help_text)
    (problem,) = shop.problems
    assert problem.at is not None
    assert problem.at.line == 4


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("all: {tags: [Reading]}", "`--toolset all` lists every tool"),
        ("'*': {tags: [Reading]}", "no `--toolset` could name `*`"),
        ("'a, b': {tags: [Reading]}", "no `--toolset` could name `a, b`"),
        ("a b: {tags: [Reading]}\n  A-B: {tags: [Reading]}", "would name both `a b` and `A-B`"),
        ("some: {description: None.}", "the toolset `some` is empty"),
    ],
)
def test_an_invalid_toolset_is_an_error(shop: Shop, stated: str, said: str) -> None:
    shop.plan(f"toolsets:\n  {stated}\n")
    (problem,) = shop.problems
    assert problem.code == "toolset"
    assert said in problem.message
    assert problem.at is not None
    assert problem.at.line in (4, 5)


def test_the_search_description_counts_the_unlisted_tools(shop: Shop) -> None:
    plan = shop.plan(SMALL + "toolsets:\n  some: {tools: [read_thing1], listed: true}\n")
    assert plan.search is not None
    described = plan.search.tools[0]["description"]
    assert f"It has {2 * KINDS - 1} tools that are not listed." in described


def test_a_toolset_can_be_listed_with_the_search_tools(shop: Shop) -> None:
    plan = shop.plan(SMALL + "toolsets:\n  some: {tools: [read_thing1], listed: true}\n")
    assert plan.search is not None
    assert plan.search.also_listed == ("read_thing1",)
    assert shop.found() == []


def test_listed_toolsets_above_the_budget_are_an_error(shop: Shop) -> None:
    shop.plan(SMALL + "toolsets:\n  most: {tags: [Reading, Dropping things], listed: true}\n")
    assert [code for code, _ in shop.found()] == ["over-budget"]


def test_code_mode_lists_the_search_tools_and_run_code_whatever_the_budget(shop: Shop) -> None:
    plan = shop.plan("code: {max_calls: 7}\n")

    assert plan.search is not None
    assert plan.search.names == ("search_tools", "describe_tool", "call_tool", "run_code")
    assert plan.search.token_cost < 1_000
    assert plan.code_bounds is not None
    assert plan.code_bounds.max_calls == 7
    assert plan.extras["code"] == ("run_code",)
    run = next(tool for tool in plan.search.tools if tool["name"] == "run_code")
    assert "At most 7 calls" in run["description"]
    assert run["annotations"]["readOnlyHint"] is False
    assert run["annotations"]["destructiveHint"] is True


def test_code_that_can_only_read_is_read_only(shop: Shop) -> None:
    plan = shop.plan("code: true\nselect: [{include: {method: GET}}]\n")

    assert plan.search is not None
    run = next(tool for tool in plan.search.tools if tool["name"] == "run_code")
    assert run["annotations"]["readOnlyHint"] is True
    assert run["annotations"]["destructiveHint"] is False


def test_a_tool_named_like_the_one_of_code_mode_keeps_its_name(shop: Shop) -> None:
    plan = shop.plan("code: true\n", get0="runCode")

    assert plan.search is not None
    assert plan.search.run == "mcp_run_code"
    assert "run_code" in {tool.name for tool in plan.tools}


def test_without_code_mode_a_tool_named_run_code_changes_no_name(shop: Shop) -> None:
    plan = shop.plan(SMALL, get0="runCode")

    assert plan.search is not None
    assert plan.search.names == ("search_tools", "describe_tool", "call_tool")
