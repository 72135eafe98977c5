"""Tests of tools with flat bodies, and of hints for arguments inside or outside of the body."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.errors import InvalidArgumentsError
from mcpgen.runtime.tools.tool import Tool
from mcpgen.runtime.upstream.request.building import build_parts

WORD: dict[str, Any] = {"type": "string"}
BODY: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {**WORD, "minLength": 2}, "name": WORD, "tags": {"type": "array"}},
    "required": ["title"],
}


def make_tool(*, flat: bool = True, required: bool = True, **entry: Any) -> Tool:
    properties = {"name": WORD, "body_name": WORD, **BODY["properties"]} if flat else {"name": WORD}
    properties |= {} if flat else {"body": BODY}
    listed = {"type": "object", "properties": properties, "required": ["name"]}
    if required:
        listed["required"] = ["name", "title" if flat else "body"]
    contract: dict[str, Any] = {
        "operation": "PUT /pets/{name}",
        "arguments": {"name": "name", "body": "body"},
        "listing": {"inputSchema": {**listed, "additionalProperties": False}},
        "request": {
            "method": "PUT",
            "path": "/pets/{name}",
            "parameters": [{"in": "path", "name": "name", "argument": "name", "style": "simple"}],
            "body": {"argument": "body", "media_types": [{"media_type": "application/json"}]},
        },
        **entry,
    }
    if flat:
        del properties["name"]
        properties |= {"name": WORD}
        members = {"title": "title", "body_name": "name", "tags": "tags"}
        flat_body = {"argument": "body", "members": members, "required": required}
        contract.setdefault("flat_body", flat_body)
    return Tool("put_pet", contract)


def refuse(tool: Tool, arguments: dict[str, Any]) -> str:
    with pytest.raises(InvalidArgumentsError) as refused:
        tool.prepare_arguments(arguments)
    assert not tool.accepts(arguments)
    return str(refused.value)


def test_the_handler_gets_the_body_of_its_members() -> None:
    given = {"name": "rex", "title": "Rex", "body_name": "Max", "tags": []}

    keywords = make_tool().prepare_arguments(given)

    assert keywords == {"name": "rex", "body": {"title": "Rex", "name": "Max", "tags": []}}
    assert make_tool().accepts(given)


def test_a_body_without_members_is_empty_if_it_is_required_and_else_left_out() -> None:
    entry = {"input_schema": {"type": "object", "properties": {"name": WORD, "body": {}}}}

    required, optional = (make_tool(required=it, **entry) for it in (True, False))

    assert required.prepare_arguments({"name": "rex"}) == {"name": "rex", "body": {}}
    assert optional.prepare_arguments({"name": "rex"}) == {"name": "rex"}


def test_a_workflow_passes_the_body_itself() -> None:
    tool = make_tool()

    given = {"name": "rex", "body": {"title": "Rex"}}

    assert tool.prepare_arguments(given, is_gathered=True) == given
    optional = make_tool(required=False)
    empty = {"name": "rex", "body": {}}
    assert optional.prepare_arguments(empty, is_gathered=True) == {"name": "rex"}


def test_problems_name_the_arguments_and_not_the_body() -> None:
    said = refuse(make_tool(), {"name": "rex", "body_name": 1, "title": "R"})

    assert "`/body_name` must be a string" in said
    assert "`/title` must have at least 2 characters" in said
    assert "`/title` is required and was not given" in refuse(make_tool(), {"name": "rex"})


def test_a_rule_of_the_whole_body_is_told_of_the_request_body() -> None:
    checked = {"properties": {"name": WORD, "body": {"type": "object", "minProperties": 2}}}

    said = refuse(make_tool(input_schema=checked), {"name": "rex", "title": "Rex"})

    assert "the request body must have at least 2 members" in said


def test_a_nested_tool_says_where_members_of_the_body_belong() -> None:
    said = refuse(make_tool(flat=False), {"name": "rex", "title": "Rex", "titel": "x"})

    assert '`title` belongs in `body`: {"body":{"title":"Rex"}}' in said
    assert "`/titel` is not known" in said


def test_a_flat_tool_says_that_the_members_of_the_body_are_arguments() -> None:
    said = refuse(make_tool(), {"name": "rex", "body": {"title": "Rex", "name": "Max"}})

    assert "`body` is not one argument here: its members are arguments" in said
    assert '{"title":"Rex","body_name":"Max"}' in said


def test_a_member_that_is_called_body_does_not_hide_that_hint() -> None:
    members = {"body": "body", "title": "title"}
    listed = {"type": "object", "properties": {"name": WORD, "body": WORD, "title": WORD}}
    flat_body = {"argument": "body", "members": members, "required": True}
    tool = make_tool(listing={"inputSchema": listed}, flat_body=flat_body)

    said = refuse(tool, {"name": "rex", "body": {"body": "Hello", "title": "Rex"}})

    assert "`/body` must be a string" in said
    assert 'its members are arguments: {"body":"Hello","title":"Rex"}' in said
    keywords = tool.prepare_arguments({"name": "rex", "body": "Hello"})
    assert keywords == {"name": "rex", "body": {"body": "Hello"}}


def test_an_unknown_body_of_a_composed_request_is_named() -> None:
    listed = {"properties": {"name": WORD}, "additionalProperties": False}
    tool = make_tool(flat=False, arguments={"name": "name"}, listing={"inputSchema": listed})

    assert "`/body` is not known" in refuse(tool, {"name": "rex", "body": {}})


def test_a_similar_name_is_suggested_among_the_members() -> None:
    assert "did you mean `/title`?" in refuse(make_tool(), {"name": "rex", "titel": "Rex"})


@pytest.mark.parametrize(
    ("media_type", "said"),
    [("multipart/form-data", "`/body_name` "), ("application/json", "the request body ")],
)
def test_a_member_that_cannot_be_sent_is_named_as_the_argument(media_type: str, said: str) -> None:
    tool = make_tool()
    tool.contract["request"]["body"]["media_types"] = [{"media_type": media_type}]
    values: dict[str, dict[str, Any]] = {"path": {"name": "a"}, "query": {}, "header": {}}
    values["cookie"] = {}

    with pytest.raises(InvalidArgumentsError, match=said):
        build_parts(
            tool.name,
            tool.rules,
            "PUT",
            "/pets/{name}",
            values=values,
            body={"name": "\ud800"},
        )
