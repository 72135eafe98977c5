"""Tests of the header for the idempotency key of an operation, and the argument it replaces."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Diagnostic, Problems, RejectedError
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.render.request_contract import request_contract
from mcpgen.render.upstream_file import upstream_file

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
KEY = "Idempotency-Key"
DECLARED = {"name": KEY, "in": "header", "required": True, "schema": {"type": "string"}}


class Shop:
    """An API whose POST declares a key, while its other methods do not."""

    def __init__(self, make: Any, declared: dict[str, Any] | None = None) -> None:
        answers = {"200": {"description": "ok"}}
        root = make.document()
        parameters = [DECLARED if declared is None else declared]
        root["paths"] = {
            "/orders": {
                "post": {"operationId": "add", "parameters": parameters, "responses": answers},
                "patch": {"operationId": "change", "responses": answers},
                "get": {"operationId": "list", "parameters": parameters, "responses": answers},
            }
        }
        self.api = make(root).api
        self.problems = Problems()

    def tools(self, operations: str = "", **policy: Any) -> dict[str, ToolPlan]:
        text = f"{HEAD}operations: {{{operations}}}\n" if operations else HEAD
        intent = read_manifest(text.encode(), self.problems)
        self.plan = plan_tools(self.api, replace(Policy(intent), **policy), self.problems)
        return {tool.operation.operation_id: tool for tool in self.plan.tools}

    @property
    def reported(self) -> dict[str, Diagnostic]:
        return {problem.code: problem for problem in self.problems}


@pytest.fixture
def shop(make: Any) -> Shop:
    return Shop(make)


def headers(tools: dict[str, ToolPlan]) -> dict[str, str]:
    return {name: tool.idempotency_header for name, tool in tools.items()}


def test_a_declared_idempotency_header_is_generated_by_the_server(shop: Shop) -> None:
    tools = shop.tools()
    assert headers(tools) == {"add": KEY, "change": "", "list": ""}
    assert not tools["add"].arguments
    assert [argument.wire_name for argument in tools["list"].arguments] == [KEY]
    assert request_contract(shop.plan, tools["add"])["idempotency_header"] == KEY
    note = shop.reported["idempotency-key"]
    assert "the header `Idempotency-Key` of 1 operation" in note.message
    assert "`POST /orders`" in note.why


def test_the_mock_requires_the_generated_header(shop: Shop) -> None:
    shop.tools()
    operations: Any = upstream_file(shop.plan.api)["operations"]
    (post,) = [each for each in operations if each["method"] == "POST"]
    (header,) = post["parameters"]
    assert (header["is_generated"], header["required"]) == (True, True)


@pytest.mark.parametrize(
    "name", ["idempotency-key", "X-Idempotency-Key", "Idempotence-Key", "X-Idempotence-Key"]
)
def test_common_header_names_are_recognised(make: Any, name: str) -> None:
    assert headers(Shop(make, {**DECLARED, "name": name}).tools())["add"] == name


@pytest.mark.parametrize("name", ["Request-Id", "Key", "Idempotency"])
def test_other_header_names_are_not_recognised(make: Any, name: str) -> None:
    tools = Shop(make, {**DECLARED, "name": name}).tools()
    assert headers(tools)["add"] == ""
    assert len(tools["add"].arguments) == 1


def test_the_manifest_sets_the_header_for_post_and_patch(shop: Shop) -> None:
    tools = shop.tools('"*": {idempotency_header: X-Once}')
    assert headers(tools) == {"add": "X-Once", "change": "X-Once", "list": ""}
    assert [argument.wire_name for argument in tools["add"].arguments] == [KEY]
    assert not shop.reported


def test_the_manifest_can_disable_the_header(shop: Shop) -> None:
    tools = shop.tools('"*": {idempotency_header: Idempotency-Key}, add: {idempotency_header: ""}')
    assert headers(tools) == {"add": "", "change": KEY, "list": ""}
    assert len(tools["add"].arguments) == 1


def test_an_argument_configured_in_the_manifest_is_kept(shop: Shop) -> None:
    tools = shop.tools("add: {parameters: {idempotency_key: {description: Yours.}}}")
    assert headers(tools)["add"] == KEY
    assert [argument.required for argument in tools["add"].arguments] == [True]
    assert not shop.reported


@pytest.mark.parametrize("value", ["fixed: one", "from_environment: SHOP_KEY, secret: true"])
def test_a_constant_value_is_not_used_as_a_key(shop: Shop, value: str) -> None:
    tools = shop.tools(f"add: {{parameters: {{idempotency_key: {{{value}}}}}}}")
    assert headers(tools)["add"] == ""


def test_a_published_argument_is_kept(shop: Shop) -> None:
    published = {"POST /orders": frozenset({"idempotency_key"})}
    tools = shop.tools(published_arguments=published)
    assert headers(tools)["add"] == KEY
    assert [argument.name for argument in tools["add"].arguments] == ["idempotency_key"]
    assert "idempotency-argument" in shop.reported
    tools = shop.tools("add: {idempotency_header: idempotency-key}", published_arguments=published)
    assert headers(tools)["add"] == KEY
    assert not tools["add"].arguments


@pytest.mark.parametrize(
    "schema", [{"type": "string", "maxLength": 32}, {"type": "integer"}, {"enum": ["a"]}]
)
def test_header_that_accepts_no_uuid_stays_an_argument(make: Any, schema: dict[str, Any]) -> None:
    shop = Shop(make, {**DECLARED, "schema": schema})
    tools = shop.tools()
    assert headers(tools)["add"] == ""
    assert len(tools["add"].arguments) == 1
    assert "accepts no UUID" in shop.reported["idempotency-argument"].why
    shop.tools("add: {idempotency_header: Idempotency-Key}")
    assert shop.problems.has_errors


def test_a_header_for_a_method_without_retries_is_an_error(shop: Shop) -> None:
    shop.tools("list: {idempotency_header: Idempotency-Key}")
    assert "needs no idempotency key" in shop.reported["idempotency-header"].message


@pytest.mark.parametrize("name", ["Authorization", "Content-Length", "X-Api-Key", "Host"])
def test_a_connection_or_credential_header_is_rejected(shop: Shop, name: str) -> None:
    with pytest.raises(RejectedError):
        shop.tools(f"add: {{idempotency_header: {name}}}")
    assert "cannot carry an idempotency key" in shop.reported["manifest"].message
