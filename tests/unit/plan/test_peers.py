"""What other generators' extensions in a document ask for, in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems, Severity
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.spec.manifest import read_manifest

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
RESPONSES = {"200": {"description": "done"}}


class Shop:
    def __init__(self, make: Any) -> None:
        self.make = make
        self.problems = Problems()

    def plan(
        self,
        extensions: dict[str, Any],
        manifest: str = "",
        method: str = "get",
        issued: dict[str, str] | None = None,
    ) -> ServerPlan:
        root = self.make.document()
        root["paths"] = {
            "/pets": {method: {"operationId": "allPets", "responses": RESPONSES, **extensions}},
            "/toys": {"get": {"operationId": "allToys", "responses": RESPONSES}},
        }
        intent = read_manifest((HEAD + manifest).encode(), self.problems)
        return plan_tools(self.make(root).api, Policy(intent, issued or {}), self.problems)

    def notes(self) -> list[str]:
        return [note.message for note in self.problems if note.severity is Severity.NOTE]


@pytest.fixture
def shop(make: Any) -> Shop:
    return Shop(make)


@pytest.mark.parametrize("key", ["x-mcp", "x-speakeasy-mcp", "x-gram"])
def test_a_tool_takes_its_name_and_words_from_an_extension(shop: Shop, key: str) -> None:
    plan = shop.plan({key: {"name": "find-pets", "description": "Find every pet there is."}})
    tool = next(tool for tool in plan.tools if tool.operation.path == "/pets")
    assert tool.name == "find_pets"
    assert tool.description.startswith("Find every pet there is")
    assert shop.notes() == [f"`{key}` is followed on `GET /pets`"]


def test_a_name_that_was_issued_stays(shop: Shop) -> None:
    plan = shop.plan({"x-gram": {"name": "find_pets"}}, issued={"GET /pets": "list_pets"})
    assert [tool.name for tool in plan.tools] == ["all_toys", "list_pets"]


@pytest.mark.parametrize(
    "extensions",
    [
        {"x-mcp": False},
        {"x-mcp": {"skip": True}},
        {"x-enable-mcp-operation": False},
        {"x-speakeasy-mcp": {"disabled": True}},
    ],
)
def test_an_extension_hides_an_operation(shop: Shop, extensions: dict[str, Any]) -> None:
    assert [tool.name for tool in shop.plan(extensions).tools] == ["all_toys"]


def test_the_manifest_wins(shop: Shop) -> None:
    extensions = {
        "x-speakeasy-mcp": {"disabled": True, "name": "theirs", "description": "Their words."}
    }
    manifest = "operations: {allPets: {name: ours, description: Our own words.}}\n"
    tools = {tool.name: tool for tool in shop.plan(extensions, manifest).tools}
    assert sorted(tools) == ["all_toys", "ours"]
    assert tools["ours"].description.startswith("Our own words")


def test_hints_make_a_tool_look_dangerous_and_never_harmless(shop: Shop) -> None:
    hints = {"readOnlyHint": True, "idempotentHint": False, "openWorldHint": False}
    plan = shop.plan({"x-mcp-annotations": hints}, method="put")
    tool = next(tool for tool in plan.tools if tool.operation.method == "PUT")
    assert tool.annotations["readOnlyHint"] is False
    assert tool.annotations["idempotentHint"] is False
    assert tool.annotations["openWorldHint"] is True
    assert (
        "openWorldHint: false, readOnlyHint: true is not taken from the document, on `PUT /pets`"
        in shop.notes()
    )


def test_prompts_are_told_of_and_left(shop: Shop) -> None:
    shop.plan({"x-mcp-prompts": [{"name": "greet", "template": "Hello"}]})
    assert shop.notes() == ["`x-mcp-prompts` is not followed on `GET /pets`"]
