"""Tests of prompts that a document declares for another generator, in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy

GREETING = {
    "description": "Greet somebody.",
    "arguments": [{"name": "who", "description": "Whom.", "required": True}],
    "messages": [
        {"role": "user", "content": "Greet {{who}} in {braces}."},
        {"role": "ASSISTANT", "content": "Hello {{{ who }}}!"},
    ],
}


def planned(make: Any, prompts: Any) -> tuple[ServerPlan, list[str]]:
    problems = Problems()
    head = b"server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
    intent = read_manifest(head, problems)
    api = make(make.document() | {"x-mcp-prompts": prompts}).api
    plan = plan_tools(api, Policy(intent, {}), problems)
    return plan, [note.message for note in problems if note.code == "peer-extension"]


@pytest.mark.parametrize(
    "prompts",
    [
        [{"name": "greet", **GREETING}],
        {"greet": GREETING | {"arguments": {"who": {"description": "Whom.", "required": True}}}},
    ],
    ids=["as a list", "by name"],
)
def test_a_prompt_with_messages_is_listed(make: Any, prompts: Any) -> None:
    plan, notes = planned(make, prompts)
    (prompt,) = plan.prompts
    assert prompt.listing == {
        "name": "greet",
        "description": "Greet somebody.",
        "arguments": [{"name": "who", "description": "Whom.", "required": True}],
    }
    assert prompt.content["messages"] == [
        {"role": "user", "text": "Greet {who} in {{braces}}."},
        {"role": "assistant", "text": "Hello {who}!"},
    ]
    assert notes == ["the prompt `greet` of `x-mcp-prompts` is followed"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"resolve": {"path": "/prompts"}}, "its messages come from the API (`resolve`)"),
        ({"messages": []}, "it has no messages"),
        ({"messages": "Hello"}, "`messages`: Expected `array`, got `str`"),
        (
            {"messages": [{"role": "user", "content": "{{#who}}x{{/who}}"}]},
            "`{{#who}}` is not an argument",
        ),
        ({"messages": [{"role": "system", "content": "x"}]}, "the role `system` is not MCP's"),
        ({"name": "gr eet"}, "its name is not up to 64 letters, digits, `_`, `.` and `-`"),
        ({"arguments": [{}]}, "an argument has no name that is an identifier"),
    ],
)
def test_a_prompt_with_an_unsupported_form_is_reported(
    make: Any, changed: dict[str, Any], why: str
) -> None:
    prompt = {"name": "greet", **GREETING, **changed}
    plan, notes = planned(make, [prompt])
    assert plan.prompts == ()
    assert notes == [f"the prompt `{prompt['name']}` of `x-mcp-prompts` is not followed: {why}"]
