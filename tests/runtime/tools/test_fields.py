"""Tests of members that a caller selects from a result, and of positions to continue from."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.runtime.content import ToolResult
from mcpgen.runtime.errors import InvalidArgumentsError
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.tools.tool import Tool, ToolGroup
from mcpgen.runtime.upstream.http.messages import HttpResponse

ORDER = {
    "type": ["object", "null"],
    "properties": {
        "id": {"type": ["integer", "null"]},
        "note": {"type": ["string", "null"]},
        "buyer": {
            "type": ["object", "null"],
            "properties": {"name": {"type": ["string", "null"]}, "mail": {"type": ["string"]}},
        },
    },
}
VALUE = {"id": 1, "note": "x", "buyer": {"name": "Ann", "mail": "a@b"}, "secret": "s"}


def contract(output: Any, **changes: Any) -> dict[str, Any]:
    properties = {
        "page": {"type": "integer"},
        "fields": {"type": "array", "items": {"type": "string"}},
        "max_pages": {"type": "integer"},
        "continue_from": {"type": "string"},
    }
    return {
        "operation": "GET /orders",
        "listing": {
            "inputSchema": {"type": "object", "properties": properties},
            "outputSchema": output,
        },
        "arguments": {"page": "page"},
        "fields": "fields",
        "continuation": "continue_from",
        "request": {
            "method": "GET",
            "path": "/orders",
            "parameters": [{"in": "query", "name": "page", "argument": "page", "style": "form"}],
        },
        **changes,
    }


@pytest.fixture
def call(run: Any, make_client: Any, upstream: Any) -> Callable[..., ToolResult]:
    def call(
        entry: dict[str, Any], value: Any, arguments: dict[str, Any], **options: Any
    ) -> ToolResult:
        headers = (("Content-Type", "application/json"),)
        upstream.outcomes = (HttpResponse(200, headers, json.dumps(value).encode()),)
        tools = ToolGroup("orders", {"list_orders": Tool("list_orders", entry)})

        @tools.handler("list_orders")
        async def list_orders(ctx: Any, *, page: Any = ABSENT) -> Any:
            return await ctx.api.request("GET", "/orders", query={"page": page}, returns=object)

        registry = ToolRegistry([tools], make_client(options.pop("environ", {})))
        context = SimpleNamespace(owner=None)
        result: ToolResult = run(registry.call("list_orders", arguments, context, **options))
        output = entry["listing"]["outputSchema"]
        assert SchemaValidator(output).is_valid(result.structured_content or {})
        return result

    return call


def wrap(items: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": {"type": ["array", "null"], "items": items}}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["id"], {"id": 1}),
        (["id", "buyer.name"], {"id": 1, "buyer": {"name": "Ann"}}),
        (["buyer", "buyer.name"], {"buyer": {"name": "Ann", "mail": "a@b"}}),
        ([], VALUE),
    ],
)
def test_only_selected_members_are_returned(call: Any, fields: Any, expected: Any) -> None:
    result = call(contract(ORDER), VALUE, {"fields": fields})
    assert result.structured_content == expected
    assert json.loads(result.content[0].text) == expected


def test_members_of_listed_items_are_selected(call: Any, upstream: Any) -> None:
    entry = contract(wrap(ORDER), result_key="result")
    for fields in (["id", "buyer.name"], ["result.id", "result[].buyer.name"]):
        result = call(entry, [VALUE, {"id": 2}], {"fields": fields})
        assert result.structured_content == {
            "result": [{"id": 1, "buyer": {"name": "Ann"}}, {"id": 2}]
        }
    assert "fields" not in upstream.requests[-1].url


def test_the_manifest_still_decides_what_may_be_seen(call: Any, upstream: Any) -> None:
    shaping = {"result": {"select": {"id": {}, "note": {}}}}
    listed = {name: ORDER["properties"][name] for name in ("id", "note")}
    entry = contract({**ORDER, "properties": listed}, shaping=shaping)
    assert call(entry, VALUE, {"fields": ["note"]}).structured_content == {"note": "x"}
    upstream.requests.clear()
    with pytest.raises(InvalidArgumentsError, match=r"no member `buyer\.name`"):
        call(entry, VALUE, {"fields": ["buyer.name"]})
    assert upstream.requests == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (["id", "nota"], "`/fields/1`: the result has no member `nota`; did you mean `note`?"),
        (["name"], "`/fields/0`: the result has no member `name`; did you mean `buyer.name`?"),
        (["secret"], "`/fields/0`: the result has no member `secret`"),
        ([1], "`/fields/0` must be a string"),
        ("id", "`/fields` must be an array"),
    ],
)
def test_unknown_members_are_rejected_before_a_request(
    call: Any, upstream: Any, fields: Any, problem: str
) -> None:
    with pytest.raises(InvalidArgumentsError) as refusal:
        call(contract(ORDER), VALUE, {"fields": fields})
    assert problem in str(refusal.value)
    assert upstream.requests == []


PAGES = {"argument": "max_pages", "kind": "page", "parameter": "page", "first": 1}
LONG = [{"id": number, "note": "x" * 100} for number in range(50)]


def test_the_next_call_selects_the_same_members(call: Any) -> None:
    entry = contract(wrap(ORDER), result_key="result", pagination=PAGES)
    environ = {"PETSTORE_MAX_RESULT_TOKENS": "250"}
    result = call(entry, LONG, {"fields": ["note"]}, environ=environ)
    shown = len(result.structured_content["result"])
    (next_call,) = result.structured_content["next_calls"]
    assert next_call["arguments"] == {
        "fields": ["note"],
        "max_pages": 1,
        "continue_from": f"/{shown}",
    }
    rest = call(entry, LONG, next_call["arguments"], environ=environ)
    assert rest.structured_content["result"][0] == {"note": "x" * 100}


def test_a_selection_does_not_hide_that_pages_follow(call: Any) -> None:
    entry = contract(wrap(ORDER), result_key="result", pagination=PAGES)
    assert len(call(entry, [VALUE], {}).content) == 1  # what the API sent says enough
    (_, note) = call(entry, [VALUE], {"fields": ["id"]}).content
    assert note.text.endswith('Next call: `list_orders` {"fields":["id"],"page":2}')


def test_an_unlisted_tool_goes_on_through_the_tool_that_calls_it(call: Any) -> None:
    environ = {"PETSTORE_MAX_RESULT_TOKENS": "250"}
    entry = contract(wrap(ORDER), result_key="result")
    result = call(entry, LONG, {"page": 3}, environ=environ, through="call_tool")
    (next_call,) = result.structured_content["next_calls"]
    assert next_call["name"] == "call_tool"
    inner = next_call["arguments"]
    assert inner["name"] == "list_orders"
    assert inner["arguments"].keys() == {"page", "continue_from"}
    assert f"Next call: `call_tool` {json.dumps(inner, separators=(',', ':'))}" in (
        result.content[1].text
    )


def test_a_tool_that_may_change_something_is_not_called_again(call: Any) -> None:
    entry = contract(wrap(ORDER), result_key="result")
    del entry["continuation"]
    result = call(entry, LONG, {}, environ={"PETSTORE_MAX_RESULT_TOKENS": "250"})
    assert "next_calls" not in result.structured_content
    assert result.content[1].text.endswith("of 50 items. The rest cannot be requested.")


@pytest.mark.parametrize("pointer", ["items", "30", "#/0"])
def test_an_invalid_pointer_is_rejected_before_a_request(
    call: Any, upstream: Any, pointer: str
) -> None:
    with pytest.raises(InvalidArgumentsError, match="as a note of a cut result says"):
        call(contract(wrap(ORDER), result_key="result"), LONG, {"continue_from": pointer})
    assert upstream.requests == []


@pytest.mark.parametrize(
    "pointer", ["/x", "/0/nothing", "/0/id/0", "/999/id", "/-1", "/" + "9" * 40]
)
def test_a_place_that_the_result_lacks_is_an_error(call: Any, pointer: str) -> None:
    entry = contract(wrap(ORDER), result_key="result")
    result = call(entry, LONG, {"continue_from": pointer})
    assert result.is_error
    assert "Call again without `continue_from`." in result.content[0].text


def test_a_list_that_became_shorter_is_at_its_end(call: Any) -> None:
    entry = contract(wrap(ORDER), result_key="result")
    assert call(entry, LONG[:3], {"continue_from": "/30"}).structured_content == {"result": []}


def test_calls_are_left_out_of_a_map(call: Any) -> None:
    entry = contract({"type": "object", "additionalProperties": {"type": ["integer", "null"]}})
    value = {f"name{number}": number for number in range(2000)}
    result = call(entry, value, {}, environ={"PETSTORE_MAX_RESULT_TOKENS": "250"})
    assert "next_calls" not in result.structured_content
    (next_call,) = result.meta["mcpgen/nextCalls"]
    following = f"name{len(result.structured_content)}"
    assert next_call["arguments"] == {"continue_from": f"/{following}"}


def test_long_arguments_are_not_repeated_in_the_note(call: Any) -> None:
    entry = contract(wrap(ORDER), result_key="result")
    environ = {"PETSTORE_MAX_RESULT_TOKENS": "2500"}
    result = call(entry, LONG * 20, {"fields": ["note"] * 300}, environ=environ)
    assert len(result.content[1].text) < 300
    assert "with the arguments of this call, and {" in result.content[1].text
