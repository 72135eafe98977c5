"""Tests of the clients in `targets:`, and of what they do not support."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Problems, Severity
from mcpgen.manifest.manifest import read_manifest
from mcpgen.manifest.workflows import read_workflows
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.targets import check_targets, find_name_limit

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"


def told(make: Any, manifest: str, operations: int) -> Problems:
    root = make.document()
    get = {"summary": "Look. " * 300, "responses": {"200": {"description": "ok"}}}
    root["paths"] = {f"/p{number}": {"get": get} for number in range(operations)}
    problems = Problems()
    intent = read_manifest((HEAD + manifest).encode(), problems)
    plan = plan_tools(make(root).api, Policy(intent), Problems())
    check_targets(plan, intent, problems)
    return problems


def test_an_unknown_client_is_an_error_at_its_location(make: Any) -> None:
    (problem,) = told(make, "targets: [cursor, windsrf]", 1)
    assert (problem.severity, problem.help) == (Severity.ERROR, "did you mean `windsurf`?")
    assert problem.at is not None
    assert problem.at.pointer == "/targets/1"


@pytest.mark.parametrize(("tools", "count"), [(40, 0), (41, 1)])
def test_too_many_tools_are_a_warning(make: Any, tools: int, count: int) -> None:
    problems = list(told(make, "budget: 1000000\ntargets: [cursor]", tools))
    assert len(problems) == count
    assert all("41 tools are listed" in problem.message for problem in problems)
    assert all(problem.severity is Severity.WARNING for problem in problems)


def test_a_name_that_is_too_long_with_the_server_name_is_reported(make: Any) -> None:
    name = "a" * 48
    text = f"operations: {{'GET /p0': {{name: {name}}}}}\ntargets: [cursor]".replace("shop", "s")
    assert not list(told(make, text, 1))
    long = HEAD.replace("shop", "a-shop-of-many-words")
    problems = Problems()
    intent = read_manifest((long + text).encode(), problems)
    root = make.document()
    root["paths"] = {"/p0": {"get": {"responses": {"200": {"description": "ok"}}}}}
    check_targets(plan_tools(make(root).api, Policy(intent), Problems()), intent, problems)
    (problem,) = problems
    assert "has 69 characters (limit: 60)" in problem.message


LONG_NAME = "a-server-with-a-long-name"


@pytest.mark.parametrize(
    ("server", "targets", "limit"),
    [
        ("petstore", (), 48),
        (LONG_NAME, (), 64 - len(f"mcp__{LONG_NAME}__")),
        ("petstore", ("claude-code",), 64),
        ("petstore", ("vscode",), 64),
        ("petstore", ("claude-code", "gemini"), 63 - len("mcp_")),
        ("petstore", ("claude-code", "cursor"), 60 - len("petstore.")),
        ("petstore", ("unknown",), 48),
    ],
)
def test_the_targets_determine_the_name_limit(
    server: str, targets: tuple[str, ...], limit: int
) -> None:
    assert find_name_limit(server, targets) == limit


LONG_ID = "getTheCurrentStatusOfAllScheduledMaintenanceWindows"


@pytest.mark.parametrize(
    ("targets", "name", "notes"),
    [
        ("", "get_status_all_scheduled_maintenance_windows", 1),
        ("targets: [vscode]", "get_the_current_status_of_all_scheduled_maintenance_windows", 0),
    ],
)
def test_a_shortened_name_is_reported_with_the_entry_that_changes_it(
    make: Any, targets: str, name: str, notes: int
) -> None:
    root = make.document()
    operation = {"operationId": LONG_ID, "responses": {"200": {"description": "ok"}}}
    root["paths"] = {"/windows": {"get": operation}}
    problems = Problems()
    intent = read_manifest((HEAD + targets).encode(), problems)
    (tool,) = plan_tools(make(root).api, Policy(intent), problems).tools
    assert tool.name == name
    found = [problem for problem in problems if problem.code == "name-shortened"]
    assert len(found) == notes
    for problem in found:
        assert problem.severity is Severity.NOTE
        assert problem.message == "shortened 1 tool name to 48 characters"
        assert f"`{name}` is short for" in problem.why
        assert '`operations: {"GET /windows": {name: ...}}`' in problem.help
    again = Problems()
    issued = {"GET /windows": name}
    (kept,) = plan_tools(make(root).api, Policy(intent, issued), again).tools
    assert kept.name == name
    assert not [problem for problem in again if problem.code == "name-shortened"]


def test_workflows_count_as_tools(make: Any) -> None:
    steps = "steps: [{id: look, operation: GET /p0}]"
    text = f"budget: 1000000\nworkflows: {{meet: {{{steps}}}}}\ntargets: [cursor]"
    root = make.document()
    get = {"responses": {"200": {"description": "ok"}}}
    root["paths"] = {f"/p{number}": {"get": get} for number in range(40)}
    problems = Problems()
    intent = read_manifest((HEAD + text).encode(), problems)
    workflows = read_workflows(intent, pytest.fail, problems)
    policy = replace(Policy(intent), workflows=workflows)
    check_targets(plan_tools(make(root).api, policy, Problems()), intent, problems)
    (problem,) = problems
    assert "41 tools are listed" in problem.message


def body_of(make: Any, schema: Any, client: str) -> list[str]:
    root = make.document()
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    put = {"requestBody": body, "responses": {"200": {"description": "ok"}}}
    root["paths"] = {"/p": {"put": put}}
    problems = Problems()
    intent = read_manifest((HEAD + f"targets: [{client}]").encode(), problems)
    check_targets(plan_tools(make(root).api, Policy(intent), Problems()), intent, problems)
    return [problem.message for problem in problems]


@pytest.mark.parametrize(
    ("client", "member", "told"),
    [
        ("cursor", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "`anyOf`"),
        ("cursor", {"type": "array", "items": {"type": "string"}}, ""),
        ("gemini", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, ""),
        (
            "gemini",
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            "an `anyOf` in `items`",
        ),
        (
            "gemini",
            {
                "type": "object",
                "additionalProperties": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            },
            "`exclusiveMinimum`",
        ),
        ("vscode", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, ""),
    ],
)
def test_schema_features_that_a_client_rejects_are_reported(
    make: Any, client: str, member: Any, told: str
) -> None:
    # a member that is only called so is none of it
    schema = {"type": "object", "properties": {"exclusiveMaximum": {"type": "string"}, "a": member}}
    expected = [f"`{client}`: {told} in the arguments of `replace_p` is not supported"]
    assert body_of(make, schema, client) == (expected if told else [])
