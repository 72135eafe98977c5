"""Tests of `operations` entries for many operations: `*`, `tag:NAME` and `effect:NAME`."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from mcpgen.diagnostics import Diagnostic, Problems, RejectedError
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.manifest.declared_tools import lower_declared
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\noperations:\n"


class Shop:
    """The plan of a small API with `operations` of a manifest."""

    def __init__(self, make: Any, operations: str, tools: str = "") -> None:
        team = {"name": "teamId", "in": "query", "schema": {"type": "string"}}
        found = {
            "200": {
                "description": "ok",
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "properties": {"id": {"type": "string"}, "rows": {"type": "array"}},
                        }
                    }
                },
            }
        }
        root = make.document()
        root["paths"] = {
            "/pets": {
                "get": {
                    "operationId": "listPets",
                    "tags": ["pets", "lists"],
                    "parameters": [team, {"name": "limit", "in": "query", "schema": {}}],
                    "responses": found,
                },
                "post": {
                    "operationId": "addPet",
                    "tags": ["pets"],
                    "parameters": [team],
                    "responses": {"204": {"description": "done"}},
                },
                "delete": {"operationId": "dropPets", "responses": {"204": {"description": "ok"}}},
            }
        }
        self.problems = Problems()
        intent = read_manifest(f"{HEAD}{operations}\n{tools}".encode(), self.problems)
        self.plan = plan_tools(make(root).api, Policy(intent), self.problems)

    def __getitem__(self, name: str) -> ToolPlan:
        (tool,) = [tool for tool in self.plan.tools if tool.name == name]
        return tool

    @property
    def timeouts(self) -> dict[str, float | None]:
        """Return the timeout of each tool."""
        return {tool.name: tool.policies.timeout_seconds for tool in self.plan.tools}

    @property
    def problem(self) -> Diagnostic:
        """Return the only problem."""
        (problem,) = self.problems
        return problem


def test_the_most_specific_entry_is_used(make: Any) -> None:
    shop = Shop(
        make,
        """
  "*": {timeout_seconds: 1}
  "effect:read": {timeout_seconds: 2}
  "tag:pets": {timeout_seconds: 3}
  addPet: {timeout_seconds: 4}
""",
    )
    assert not list(shop.problems)
    assert shop.timeouts == {"add_pet": 4, "drop_pets": 1, "list_pets": 3}


def test_effects_follow_the_method_and_the_annotations_of_the_operation(make: Any) -> None:
    effects = """
  "effect:read": {timeout_seconds: 1}
  "effect:write": {timeout_seconds: 2}
  "effect:destructive": {timeout_seconds: 3}
"""
    shop = Shop(make, effects)
    assert shop.timeouts == {"add_pet": 2, "drop_pets": 3, "list_pets": 1}
    shop = Shop(
        make,
        f"{effects}  addPet: {{annotations: {{destructiveHint: true}}}}\n"
        "  dropPets: {annotations: {destructiveHint: false}}\n",
    )
    assert shop.timeouts == {"add_pet": 3, "drop_pets": 2, "list_pets": 1}


def test_entries_are_merged_setting_by_setting(make: Any) -> None:
    shop = Shop(
        make,
        """
  "*":
    parameters: {team_id: {from_environment: TEAM}, limit: {default: 5}}
    retry: {attempts: 3}
    result: {max_bytes: 2000, max_items: 9}
    annotations: {openWorldHint: false}
    confirm: Really?
  listPets:
    parameters: {limit: {fixed: 7}}
    result: {max_items: 2, select: [rows]}
    annotations: {idempotentHint: false}
    confirm: ""
""",
    )
    assert not list(shop.problems)
    listed, added = shop["list_pets"], shop["add_pet"]
    assert [(it.wire_name, it.value, it.setting is None) for it in listed.fixed] == [
        ("teamId", UNSET, False),
        ("limit", 7, True),
    ]
    assert not listed.arguments
    assert [it.wire_name for it in added.fixed] == ["teamId"]
    assert (listed.policies.max_items, listed.policies.max_bytes) == (2, 2000)
    assert listed.policies.attempts == added.policies.attempts == 3
    assert listed.annotations["openWorldHint"] is added.annotations["openWorldHint"] is False
    assert listed.annotations["idempotentHint"] is False
    assert (listed.policies.confirm, added.policies.confirm) == ("", "Really?")


def test_a_value_equal_to_the_default_overrides_a_broader_entry(make: Any) -> None:
    shop = Shop(make, "  '*': {expose: 'off'}\n  addPet: {expose: tool}")
    assert [tool.name for tool in shop.plan.tools] == ["add_pet"]


def test_inapplicable_settings_of_a_broad_entry_are_skipped(make: Any) -> None:
    shop = Shop(make, "  '*': {paginate: {max_pages: 3}, result: {max_bytes: 900}}")
    assert not list(shop.problems)
    assert shop["add_pet"].policies.max_bytes is None
    assert shop["list_pets"].policies.max_bytes == 900


def test_entries_apply_to_declared_tools(make: Any) -> None:
    tool = "{method: GET, url: 'https://a.example/x', description: Look., timeout_seconds: 9}"
    tools = f"tools: {{look: {tool}}}"
    problems = Problems()
    text = f"{HEAD}  '*': {{timeout_seconds: 2, retry: {{attempts: 4}}}}\n{tools}"
    intent = read_manifest(text.encode(), problems)
    api = lower_declared(intent, problems)
    assert api is not None
    (planned,) = plan_tools(api, Policy(intent), problems).tools
    assert (planned.policies.timeout_seconds, planned.policies.attempts) == (9, 4)


def test_contradictory_tag_entries_use_the_first_tag_and_are_reported(make: Any) -> None:
    tags = "  'tag:lists': {timeout_seconds: 5}\n  'tag:pets': {timeout_seconds: 6}\n"
    shop = Shop(make, tags)
    assert shop.timeouts["list_pets"] == 6
    assert (shop.problem.code, shop.problem.severity) == ("tags-contradict", "warning")
    assert "`GET /pets` has both tags" in shop.problem.why
    assert shop.problem.at is not None
    assert shop.problem.at.line == 4
    assert not list(Shop(make, tags.replace("6", "5")).problems)
    assert not list(Shop(make, f"{tags}  listPets: {{timeout_seconds: 1}}\n").problems)


@pytest.mark.parametrize(
    ("operations", "code", "message", "help"),
    [
        ("'tag:pet': {timeout_seconds: 1}", "operation-unknown", "unknown tag `pet`", "`tag:pets`"),
        (
            "'*': {parameters: {team: {hidden: true}}}",
            "parameter-unknown",
            "no operation that `*` covers has an argument `team`",
            "did you mean `team_id`?",
        ),
        (
            "'effect:write': {parameters: {limit: {hidden: true}}}",
            "parameter-unknown",
            "no operation that `effect:write` covers has an argument `limit`",
            "name an argument",
        ),
        (
            "'tag:lists': {parameters: {team_id: {fixed: 3}}}",
            "parameter-entry",
            "the argument `team_id` of `GET /pets` cannot have this value",
            "",
        ),
    ],
)
def test_an_entry_without_effect_is_rejected_at_its_location(
    make: Any, operations: str, code: str, message: str, help: str
) -> None:
    problem = Shop(make, f"  {operations}").problem
    assert (problem.code, problem.severity) == (code, "error")
    assert message in problem.message
    assert help in problem.help
    assert problem.at is not None
    assert problem.at.line == 4


def test_an_effect_that_no_operation_has_is_a_warning(make: Any) -> None:
    changed = "dropPets: {annotations: {destructiveHint: false}}"
    shop = Shop(make, f"  'effect:destructive': {{confirm: Sure?}}\n  {changed}")
    assert (shop.problem.severity, shop.problem.code) == ("warning", "operation-unknown")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operations: {'*': {name: x}}", "`name` cannot be set for many operations"),
        ("operations: {'tag:pets': {aliases: [x]}}", "`aliases` cannot be set"),
        ("operations: {'effect:read': {result: {select: [id]}}}", "`result.select` cannot"),
        ("operations: {'effect:reads': {}}", "unknown effect `effect:reads`"),
    ],
)
def test_a_setting_for_one_operation_is_rejected_in_a_broad_entry(text: str, message: str) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(f"server: {{name: a}}\nsources: [{{document: a}}]\n{text}".encode(), problems)
    (problem,) = problems
    assert message in problem.message


def test_a_reserved_source_name_is_rejected() -> None:
    problems = Problems()
    text = "server: {name: a}\nsources: [{document: a, name: tag}]"
    with pytest.raises(RejectedError):
        read_manifest(text.encode(), problems)
    (problem,) = problems
    assert "reserved name of a source: `tag`" in problem.message
