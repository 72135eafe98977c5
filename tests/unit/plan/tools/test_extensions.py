"""Tests of vendor extensions of other generators, in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems, Severity
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy

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
        *,
        of_path: dict[str, Any] | None = None,
        of_document: dict[str, Any] | None = None,
    ) -> ServerPlan:
        root = {**self.make.document(), **(of_document or {})}
        pets = {"operationId": "allPets", "responses": RESPONSES, **extensions}
        root["paths"] = {
            "/pets": {method: pets, **(of_path or {})},
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
def test_a_tool_takes_its_name_and_description_from_an_extension(shop: Shop, key: str) -> None:
    plan = shop.plan({key: {"name": "find-pets", "description": "Find every pet there is."}})
    tool = next(tool for tool in plan.tools if tool.operation.path == "/pets")
    assert tool.name == "find_pets"
    assert tool.description.startswith("Find every pet there is")
    assert shop.notes() == [f"`{key}` is followed on `GET /pets`"]


def test_a_published_name_overrides_an_extension(shop: Shop) -> None:
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


def test_the_manifest_overrides_extensions(shop: Shop) -> None:
    extensions = {
        "x-speakeasy-mcp": {"disabled": True, "name": "theirs", "description": "Their words."}
    }
    manifest = "operations: {allPets: {name: ours, description: Our own words.}}\n"
    tools = {tool.name: tool for tool in shop.plan(extensions, manifest).tools}
    assert sorted(tools) == ["all_toys", "ours"]
    assert tools["ours"].description.startswith("Our own words")


def test_extension_hints_can_only_make_a_tool_more_dangerous(shop: Shop) -> None:
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


def test_prompts_of_an_operation_are_reported_and_ignored(shop: Shop) -> None:
    shop.plan({"x-mcp-prompts": [{"name": "greet", "template": "Hello"}]})
    assert shop.notes() == ["`x-mcp-prompts` is not followed on `GET /pets`"]


@pytest.mark.parametrize(
    ("extensions", "of_path", "of_document", "tools"),
    [
        ({}, {"x-mcp": False}, {}, ["all_toys"]),
        ({"x-mcp": True}, {"x-mcp": False}, {}, ["all_pets", "all_toys"]),
        ({"x-mcp": {"enabled": True}}, {}, {"x-mcp": False}, ["all_pets"]),
        ({}, {"x-mcp": True}, {"x-mcp": False}, ["all_pets"]),
        ({}, {"x-speakeasy-mcp": {"disabled": False}}, {"x-mcp": False}, ["all_pets"]),
        ({"x-mcp": {"name": "all_pets"}}, {"x-mcp": {"skip": True}}, {}, ["all_toys"]),
    ],
)
def test_the_nearest_extension_is_used(
    shop: Shop,
    extensions: dict[str, Any],
    of_path: dict[str, Any],
    of_document: dict[str, Any],
    tools: list[str],
) -> None:
    plan = shop.plan(extensions, of_path=of_path, of_document=of_document)
    assert [tool.name for tool in plan.tools] == tools


def test_annotations_inside_an_extension_are_used(shop: Shop) -> None:
    plan = shop.plan({"x-mcp": {"annotations": {"readOnlyHint": False}}})
    assert (
        next(tool for tool in plan.tools if tool.name == "all_pets").annotations["readOnlyHint"]
        is False
    )


def test_scopes_become_toolsets(shop: Shop) -> None:
    scoped = {"x-speakeasy-mcp": {"scopes": ["read", "shop.pets"]}}
    found = {toolset.name: toolset.tools for toolset in shop.plan(scoped).toolsets}
    assert found["read"] == found["shop.pets"] == ("all_pets",)
    assert shop.notes() == []


def test_the_manifest_overrides_a_toolset_of_a_scope(shop: Shop) -> None:
    plan = shop.plan(
        {"x-speakeasy-mcp": {"scopes": ["read"]}}, "toolsets: {read: {tools: [allToys]}}\n"
    )
    assert next(one.tools for one in plan.toolsets if one.name == "read") == ("all_toys",)


@pytest.mark.parametrize(
    ("extensions", "told", "helped"),
    [
        ({"x-gram": {"responseFilterType": "jq"}}, "responseFilterType", "`result: {select: "),
        ({"x-gram": {"scopes": ["read"]}}, "scopes", "where mcpgen has an equal"),
        ({"x-speakeasy-mcp": {"scopes": ["a,b"]}}, "scopes", "where mcpgen has an equal"),
        ({"x-mcp": {"cache": {"ttl": 5}}}, "cache", "where mcpgen has an equal"),
        ({"x-mcp-annotations": {"audience": ["user"]}}, "audience", "where mcpgen has an equal"),
    ],
)
def test_unsupported_extension_settings_are_reported(
    shop: Shop, extensions: dict[str, Any], told: str, helped: str
) -> None:
    shop.plan(extensions)
    (key,) = extensions
    note = next(note for note in shop.problems if note.severity is Severity.NOTE)
    assert note.message == f"`{told}` of `{key}` is not followed on `GET /pets`"
    assert note.help.startswith(helped)
    assert note.at is not None
    assert note.at.pointer == "/paths/~1pets/get"


def test_a_disabled_response_filter_is_not_reported(shop: Shop) -> None:
    shop.plan({"x-gram": {"responseFilterType": "none"}})
    assert shop.notes() == []


def test_extensions_outside_of_operations_are_reported_once(shop: Shop) -> None:
    shop.plan(
        {},
        of_path={"x-gram": {"name": "pets"}},
        of_document={"x-mcp": {"protocolVersion": "2025-06-18", "tools": []}},
    )
    assert sorted(shop.notes()) == [
        "`name` of `x-gram` is not followed at a path item",
        "`protocolVersion` of `x-mcp`, `tools` of `x-mcp` is not followed at the root",
    ]
    places = [note.at.pointer for note in shop.problems if note.at is not None]
    assert sorted(places) == ["", "/paths/~1pets"]
