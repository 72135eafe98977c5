"""Tests of contracts, handlers and calls: from arguments to a `ToolResult`."""

from __future__ import annotations

import asyncio
import json
import sys
import zipfile
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.absent import ABSENT
from mcpgen.runtime.content import Audio, EmbeddedResource, Image, Text, ToolResult
from mcpgen.runtime.errors import (
    ClientCannotError,
    ConfigurationError,
    InvalidArgumentsError,
    ProtocolError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.tools.tool import Tool, ToolGroup
from mcpgen.runtime.upstream.http.messages import HttpResponse

JSON = (("Content-Type", "application/json"),)
LIST_PETS: dict[str, Any] = {
    "operation": "GET /pets",
    "listing": {
        "inputSchema": {
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "petStatus": {"type": "string"}},
            "required": ["petStatus"],
        }
    },
    "arguments": {"limit": "limit", "petStatus": "pet_status"},
    "request": {
        "method": "GET",
        "path": "/pets",
        "parameters": [
            {"in": "query", "name": "limit", "argument": "limit", "style": "form"},
            {"in": "query", "name": "status", "argument": "petStatus", "style": "form"},
        ],
    },
}


def group(**changes: Any) -> ToolGroup:
    return ToolGroup("pets", {"list_pets": Tool("list_pets", LIST_PETS | changes)})


def handled(tools: ToolGroup) -> ToolGroup:
    @tools.handler("list_pets")
    async def list_pets(ctx: Any, *, pet_status: str, limit: Any = ABSENT) -> Any:
        return await ctx.api.request(
            "GET", "/pets", query={"status": pet_status, "limit": limit}, returns=object
        )

    return tools


def call(run, make_client, arguments: dict[str, Any], **changes: Any) -> ToolResult:
    registry = ToolRegistry([handled(group(**changes))], make_client())
    return run(registry.call("list_pets", arguments, SimpleNamespace(owner=None)))


def test_members_that_an_object_lacks_get_their_defaults() -> None:
    contract = {**LIST_PETS, "arguments": {"petStatus": "petStatus"}}
    schema = {"properties": {"petStatus": {"type": "object"}}}
    contract |= {"input_schema": schema, "members": {"petStatus": {"kind": "cat", "age": 1}}}
    prepared = Tool("list_pets", contract).prepare_arguments({"petStatus": {"age": 2}})
    assert prepared == {"petStatus": {"kind": "cat", "age": 2}}


def test_arguments_are_sent_under_their_wire_names(run, make_client, upstream) -> None:
    result = call(run, make_client, {"petStatus": "sold"})
    assert upstream.only_request.url == "https://petstore.example/v1/pets?status=sold"
    assert result == ToolResult((Text('{"ok":true}'),), {"ok": True})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "`/petStatus` is required and was not given"),
        ({"petStatus": 1}, "`/petStatus` must be a string, not 1"),
        (
            {"petStatus": "x", "petstatus": 1},
            "`/petstatus` is not known; did you mean `/petStatus`?",
        ),
        ({"petStatus": "x", "api_key": 1}, "`/api_key` is not known"),
    ],
)
def test_invalid_arguments_send_nothing(run, make_client, upstream, arguments, problem) -> None:
    with pytest.raises(InvalidArgumentsError) as refusal:
        call(run, make_client, arguments)
    assert problem in refusal.value.problems[0]
    assert upstream.requests == []


def test_the_full_input_schema_is_used_for_validation(run, make_client, upstream) -> None:
    fuller = {
        "type": "object",
        "required": ["petStatus"],
        "properties": {"petStatus": {"enum": ["a"]}},
    }
    with pytest.raises(InvalidArgumentsError):
        call(run, make_client, {"petStatus": "b"}, input_schema=fuller)
    assert upstream.requests == []


def test_an_unknown_tool_raises_unknown_tool_error(run, make_client) -> None:
    with pytest.raises(UnknownToolError):
        run(
            ToolRegistry([handled(group())], make_client()).call(
                "nothing", {}, SimpleNamespace(owner=None)
            )
        )


# Results


@pytest.mark.parametrize(
    ("response", "changes", "expected"),
    [
        (HttpResponse(200, JSON, b"[1]"), {}, ToolResult((Text("[1]"),), {"result": [1]})),
        (
            HttpResponse(200, JSON, b'{"a":1}'),
            {"result_key": "result"},
            ToolResult((Text('{"a":1}'),), {"result": {"a": 1}}),
        ),
        (
            HttpResponse(200, JSON, b"null"),
            {"result_key": "result"},
            ToolResult((Text("null"),), {"result": None}),
        ),
        (
            HttpResponse(200, JSON, b'"x"'),
            {"result_key": "result"},
            ToolResult((Text("x"),), {"result": "x"}),
        ),
        (HttpResponse(204), {}, ToolResult((Text("Done: `GET /pets` gave no content."),))),
        (
            HttpResponse(200, (("Content-Type", "text/plain"),), b"hi"),
            {},
            ToolResult((Text("hi"),)),
        ),
        (
            HttpResponse(200, (("Content-Type", "image/png"),), b"\x89"),
            {},
            ToolResult((Image(b"\x89", "image/png"),)),
        ),
        (
            HttpResponse(200, (("Content-Type", "audio/ogg"),), b"O"),
            {},
            ToolResult((Audio(b"O", "audio/ogg"),)),
        ),
        (
            HttpResponse(200, (("Content-Type", "application/pdf"),), b"%"),
            {},
            ToolResult((EmbeddedResource("petstore:/list_pets", "application/pdf", blob=b"%"),)),
        ),
    ],
)
def test_a_response_becomes_content_of_its_type(
    run, make_client, upstream, response, changes, expected
) -> None:
    upstream.outcomes = (response,)
    assert call(run, make_client, {"petStatus": "x"}, **changes) == expected


def test_an_empty_response_of_a_tool_with_an_object_result_is_an_empty_object(
    run, make_client, upstream
) -> None:
    upstream.outcomes = (HttpResponse(204),)
    listing = LIST_PETS["listing"] | {"outputSchema": {"type": "object"}}
    assert call(run, make_client, {"petStatus": "x"}, listing=listing).structured_content == {}


def test_undocumented_content_is_returned(run, make_client, upstream) -> None:
    tools = group()

    @tools.handler("list_pets")
    async def list_pets(ctx: Any, *, pet_status: str, limit: Any = ABSENT) -> None:
        await ctx.api.request("GET", "/pets", query={"status": pet_status}, returns=None)

    registry = ToolRegistry([tools], make_client())
    result = run(registry.call("list_pets", {"petStatus": "x"}, SimpleNamespace(owner=None)))
    assert result.structured_content == {"ok": True}


def test_an_api_error_is_an_error_result_with_its_status(run, make_client, upstream) -> None:
    upstream.outcomes = (HttpResponse(429, (("Retry-After", "90.5"), *JSON), b'{"title":"Slow"}'),)
    result = call(run, make_client, {"petStatus": "x"})
    assert result.is_error
    assert result.structured_content is None
    assert result.meta == {"mcpgen/status": 429}


def test_retry_after_is_returned_in_milliseconds(run, make_client, upstream) -> None:
    upstream.outcomes = (HttpResponse(429, (("Retry-After", "90"),)),)
    result = call(run, make_client, {"petStatus": "x"})
    assert result.meta == {"mcpgen/status": 429, "mcpgen/retryAfterMs": 90_000}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("Try the other one."), "Try the other one."),
        (ConfigurationError("set PETSTORE_BASE_URL"), "set PETSTORE_BASE_URL."),
    ],
)
def test_an_exception_in_a_handler_becomes_an_error_result(run, make_client, error, text) -> None:
    tools = group()

    @tools.handler("list_pets")
    async def list_pets(ctx: Any, *, pet_status: str, limit: Any = ABSENT) -> Any:
        raise error

    registry = ToolRegistry([tools], make_client())
    result = run(registry.call("list_pets", {"petStatus": "x"}, SimpleNamespace(owner=None)))
    assert result.is_error
    assert result.content[0].text.endswith(text)


def test_a_bug_in_a_handler_is_logged_and_returned_only_as_a_reference(
    run, make_client, capsys
) -> None:
    tools = group()

    @tools.handler("list_pets")
    async def list_pets(ctx: Any, *, pet_status: str, limit: Any = ABSENT) -> Any:
        raise RuntimeError("postgres://u:canary@10.0.0.1")

    registry = ToolRegistry([tools], make_client())
    result = run(registry.call("list_pets", {"petStatus": "x"}, SimpleNamespace(owner=None)))
    reference = result.meta["mcpgen/reference"]
    assert reference in result.content[0].text
    assert reference in capsys.readouterr().err
    assert "canary" not in result.content[0].text
    assert "RuntimeError" not in result.content[0].text


@pytest.mark.parametrize(
    "error", [ProtocolError(-32602, "no"), ClientCannotError("no"), asyncio.CancelledError()]
)
def test_protocol_errors_pass_through(run, make_client, error) -> None:
    tools = group()

    @tools.handler("list_pets")
    async def list_pets(ctx: Any, *, pet_status: str, limit: Any = ABSENT) -> Any:
        raise error

    registry = ToolRegistry([tools], make_client())
    with pytest.raises(type(error)):
        run(registry.call("list_pets", {"petStatus": "x"}, SimpleNamespace(owner=None)))


# Handlers agree with their contracts


async def _lacks_one(ctx: Any, *, pet_status: str) -> None: ...
async def _one_more(ctx: Any, *, pet_status: str, limit: Any = ABSENT, x: Any = ABSENT) -> None: ...
async def _required_for_optional(ctx: Any, *, pet_status: str, limit: Any) -> None: ...
async def _optional_for_required(
    ctx: Any, *, pet_status: Any = ABSENT, limit: Any = ABSENT
) -> None: ...
async def _wire_name(ctx: Any, *, petStatus: str, limit: Any = ABSENT) -> None: ...  # noqa: N803  (the mistake under test)
async def _no_context(*, pet_status: str, limit: Any = ABSENT) -> None: ...


@pytest.mark.parametrize(
    "function",
    [
        _lacks_one,
        _one_more,
        _required_for_optional,
        _optional_for_required,
        _wire_name,
        _no_context,
        SimpleNamespace(owner=None),
    ],
)
def test_a_handler_that_disagrees_with_its_contract_is_rejected_at_import(function: Any) -> None:
    with pytest.raises(ConfigurationError, match="list_pets"):
        group().handler("list_pets")(function)


def test_missing_and_duplicate_handlers_are_rejected(make_client) -> None:
    with pytest.raises(ConfigurationError, match="no contract"):
        group().handler("other")
    with pytest.raises(ConfigurationError, match="no handler for `list_pets`"):
        ToolRegistry([group()], make_client())
    with pytest.raises(ConfigurationError, match="two handlers"):
        handled(group()).handler("list_pets")
    with pytest.raises(ConfigurationError, match="two groups"):
        ToolRegistry([handled(group()), handled(group())], make_client())


MODULE = """
from mcpgen.runtime.tools.tool import ToolGroup
tools = ToolGroup.load(__name__, "pets.json")
@tools.handler("list_pets")
async def list_pets(ctx, *, pet_status, limit=None): ...
"""


@pytest.mark.parametrize("in_archive", [False, True])
def test_group_is_loaded_from_the_file_beside_its_module(tmp_path, monkeypatch, in_archive) -> None:
    contract = json.dumps({"tag": "pets", "tools": {"list_pets": LIST_PETS}})
    package = f"loaded_{in_archive}".lower()
    if in_archive:
        root = tmp_path / "package.zip"
        with zipfile.ZipFile(root, "w") as archive:
            archive.writestr(f"{package}/__init__.py", "")
            archive.writestr(f"{package}/pets.py", MODULE)
            archive.writestr(f"{package}/pets.json", contract)
    else:
        root = tmp_path
        (root / package).mkdir()
        (root / package / "__init__.py").write_text("")
        (root / package / "pets.py").write_text(MODULE)
        (root / package / "pets.json").write_text(contract)
    monkeypatch.syspath_prepend(str(root))
    module = __import__(f"{package}.pets", fromlist=["tools"])
    assert module.tools.tag == "pets"
    module.tools.check_complete()
    del sys.modules[f"{package}.pets"]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"tools":{}}', '{"tag":"x","tools":[]}'])
def test_a_missing_or_damaged_contract_is_reported(tmp_path, monkeypatch, content) -> None:
    package = f"damaged_{abs(hash(content))}"
    (tmp_path / f"{package}.py").write_text(MODULE)
    if content is not None:
        (tmp_path / "pets.json").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"`pets\.json`"):
        __import__(package)
