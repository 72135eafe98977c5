"""Tests that clients' answers are validated, and that clients get only supported requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpgen.runtime import (
    Audio,
    ClientCannotError,
    ConfigurationError,
    Context,
    EmbeddedResource,
    Features,
    Image,
    ResourceLink,
    Text,
    ToolError,
    ToolResult,
    ToolUse,
    ToolUseResult,
    ask_form,
    ask_model,
    ask_roots,
    sampled_content,
)
from mcpgen.runtime.content import ModelMessage
from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.handlers.client_answers import check_answer
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.client_requests import check_client_can, check_form
from mcpgen.runtime.protocol.shapes import shape_model_messages
from mcpgen.runtime.protocol.versions import BY_NAME, REVISIONS
from mcpgen.runtime.transports.memory import MemoryConnection
from tests.runtime.handlers.test_features import EMPTY, Client, NoTools, serve
from tests.support.mcp_schemas import check_frame

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SAMPLED = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
BOUND_SECONDS = 10.0

ANSWERS: dict[str, tuple[Any, dict[str, Any], bool]] = {
    "a form": (ask_form("?", FORM), {"action": "accept", "content": {"name": "x"}}, True),
    "a form that is declined": (ask_form("?", FORM), {"action": "decline"}, True),
    "a form with other content": (ask_form("?", FORM), {"action": "accept", "content": {}}, False),
    "a form without an action": (ask_form("?", FORM), {"content": {"name": "x"}}, False),
    "a form with no content but a list": (
        ask_form("?", FORM),
        {"action": "accept", "content": []},
        False,
    ),
    "a model": (ask_model("?"), SAMPLED, True),
    "a model with several blocks": (
        ask_model("?"),
        {**SAMPLED, "content": [SAMPLED["content"]] * 2},
        True,
    ),
    "a model that says nothing": (ask_model("?"), {"role": "assistant", "model": "m"}, False),
    "a model with text that is no block": (ask_model("?"), {**SAMPLED, "content": "hi"}, False),
    "a model without a name": (ask_model("?"), {**SAMPLED, "model": None}, False),
    "a model with another role": (ask_model("?"), {**SAMPLED, "role": "system"}, False),
    "roots": (ask_roots(), {"roots": [{"uri": "file:///a"}]}, True),
    "no roots": (ask_roots(), {"roots": []}, True),
    "roots that are no list": (ask_roots(), {"roots": {}}, False),
    "roots without a URI": (ask_roots(), {"roots": [{"name": "a"}]}, False),
}


@pytest.mark.requirement("N066", "N122", "L121", "N120")
@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_with_an_invalid_shape_is_rejected(kind: str) -> None:
    request, answer, is_good = ANSWERS[kind]
    if is_good:
        check_answer({"method": request.method, "params": request.params}, answer)
    else:
        with pytest.raises(ProtocolError, match="invalid answer of the client") as caught:
            check_answer({"method": request.method, "params": request.params}, answer)
        assert caught.value.code == -32602


@pytest.mark.requirement("N066")
def test_an_invalid_answer_of_a_client_is_an_error_response() -> None:
    features = Features()

    @features.tool()
    async def asks(ctx: Context) -> str:
        answers = await ctx.ask({"model": ask_model("?"), "form": ask_form("?", FORM)})
        return str(answers["model"]["content"])

    async def talk(client: Client) -> None:
        asked = {"name": "asks", "_meta": {CAPABILITIES: {"sampling": {}, "elicitation": {}}}}
        good = {"model": SAMPLED, "form": {"action": "cancel"}}
        assert "result" in await client.ask("tools/call", **asked, inputResponses=good)
        bad = {**good, "model": {"text": "hi"}}
        answer = await client.ask("tools/call", **asked, inputResponses=bad)
        assert answer["error"]["code"] == -32602

    serve(features, talk)


@pytest.mark.requirement("L022", "L023")
@pytest.mark.parametrize("revision", REVISIONS, ids=lambda revision: revision.name)
def test_model_messages_contain_only_supported_content_blocks(revision: Any) -> None:
    blocks = [
        Text("a"),
        Image(b"b", "image/png"),
        Audio(b"c", "audio/wav"),
        EmbeddedResource("test://d", "text/plain", text="inside"),
        EmbeddedResource("test://e", "image/png", blob=b"12345"),
        ResourceLink("test://f", "f"),
    ]
    messages = shape_model_messages([("user", block) for block in blocks], revision)
    shaped = [message["content"] for message in messages]
    knows_sounds = revision.name != "2024-11-05"
    assert [it["type"] for it in shaped] == [
        "text",
        "image",
        "audio" if knows_sounds else "text",
        *["text"] * 3,
    ]
    assert [it["text"] for it in shaped[3:]] == [
        "inside",
        "[resource test://e, image/png, 5 bytes]",
        "f: test://f",
    ]


USE = ToolUse("use-1", "look_up", {"word": "x"}, {"cache": "kept"})
FOUND = ToolUseResult("use-1", (Text("a letter"), ResourceLink("test://x", "x")), {"n": 1})
FAILED = ToolUseResult("use-1", (Image(b"b", "image/png"),), is_error=True)
LOOK_UP = {"name": "look_up", "inputSchema": {"type": "object"}}
WITH_TOOLS = [revision for revision in REVISIONS if revision.name >= "2025-11-25"]
SPEAKING: list[ModelMessage] = [
    ("user", Text("What is x?")),
    ("assistant", (Text("I look it up."), USE)),
]


@pytest.mark.requirement("L117", "N123")
@pytest.mark.parametrize("result", [FOUND, FAILED], ids=["found", "failed"])
@pytest.mark.parametrize("revision", WITH_TOOLS, ids=lambda revision: revision.name)
def test_tool_results_are_sent_to_the_model_in_the_shape_of_its_revision(
    revision: Any, result: ToolUseResult
) -> None:
    messages = shape_model_messages([*SPEAKING, ("user", result)], revision)
    use, answer = messages[1]["content"][1], messages[2]["content"]
    assert use == {
        "type": "tool_use",
        "id": "use-1",
        "name": "look_up",
        "input": {"word": "x"},
        "_meta": {"cache": "kept"},
    }
    assert (answer["type"], answer["toolUseId"]) == ("tool_result", "use-1")
    assert answer.get("isError", False) is result.is_error
    assert answer.get("structuredContent") == result.structured_content
    kinds = [type(block) for block in result.content]
    assert [block["type"] for block in answer["content"]] == [
        {Text: "text", ResourceLink: "resource_link", Image: "image"}[kind] for kind in kinds
    ]
    params = {"messages": messages, "maxTokens": 1, "tools": []}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params}
    check_frame(revision.name, frame)


@pytest.mark.requirement("L022", "L023")
@pytest.mark.parametrize("revision", REVISIONS, ids=lambda revision: revision.name)
def test_tool_use_is_rejected_in_revisions_without_sampling_tools(revision: Any) -> None:
    if revision in WITH_TOOLS:
        shape_model_messages([*SPEAKING, ("user", FOUND)], revision)
    else:
        with pytest.raises(
            ClientCannotError,
            match=f"MCP {revision.name}, the revision of this client, has no tools",
        ) as caught:
            shape_model_messages([*SPEAKING, ("user", FOUND)], revision)
        assert caught.value.required == {"sampling": {"tools": {}}}


@pytest.mark.requirement("L116", "N123")
def test_tool_use_is_rejected_for_a_client_without_sampling_tools() -> None:
    messages = shape_model_messages([*SPEAKING, ("user", FOUND)], WITH_TOOLS[0])
    for params in ({"messages": messages}, {"messages": [], "toolChoice": {"mode": "auto"}}):
        with pytest.raises(ClientCannotError, match=r"sampling\.tools"):
            check_client_can("sampling/createMessage", params, WITH_TOOLS[0], {"sampling": {}})
        able = {"sampling": {"tools": {}}}
        check_client_can("sampling/createMessage", params, WITH_TOOLS[0], able)


@pytest.mark.requirement("L117", "N123")
@pytest.mark.parametrize(
    "messages",
    [
        SPEAKING,
        [*SPEAKING, ("user", Text("Well?"))],
        [*SPEAKING, ("assistant", FOUND)],
        [*SPEAKING, ("user", (FOUND, FOUND))],
        [*SPEAKING, ("user", ToolUseResult("use-2", ()))],
        [*SPEAKING, ("user", (FOUND, Text("So?")))],
        [("user", FOUND)],
        [("user", USE), ("user", FOUND)],
    ],
    ids=[
        *("unanswered", "passed over", "answered by the model", "answered twice"),
        *("another answered", "answered with more", "nothing wanted", "wanted by the user"),
    ],
)
def test_tool_results_without_matching_tool_uses_raise_value_error(
    messages: Any,
) -> None:
    with pytest.raises(ValueError, match="tool"):
        shape_model_messages(messages, WITH_TOOLS[0])


@pytest.mark.parametrize("revision", REVISIONS, ids=lambda revision: revision.name)
def test_a_message_with_several_blocks_is_split_for_older_revisions(revision: Any) -> None:
    blocks = (Text("Look:"), Image(b"b", "image/png"))
    messages = shape_model_messages([("user", blocks)], revision)
    assert len(messages) == (1 if revision in WITH_TOOLS else 2)
    params = {"messages": messages, "maxTokens": 1}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params}
    check_frame(revision.name, frame)


@pytest.mark.requirement("N123")
def test_a_handler_loops_over_tool_uses_until_the_model_answers() -> None:
    features = Features()

    @features.tool()
    async def asks(ctx: Context) -> str:
        messages: list[ModelMessage] = [("user", Text("What is x?"))]
        while True:
            answer = sampled_content(await ctx.sample(messages, tools=[LOOK_UP]))
            uses = [block for block in answer if isinstance(block, ToolUse)]
            if not uses:
                return "; ".join(block.text for block in answer if isinstance(block, Text))
            given = (ToolUseResult(use.id, (Text(use.input["word"] * 2),)) for use in uses)
            messages += [("assistant", answer), ("user", tuple(given))]

    async def talk(client: Client) -> None:
        asked = {"name": "asks", "_meta": {CAPABILITIES: {"sampling": {"tools": {}}}}}
        first = await client.ask("tools/call", **asked)
        ((key, wanted),) = first["result"]["inputRequests"].items()
        assert wanted["params"]["tools"] == [LOOK_UP]
        use = {"type": "tool_use", "id": "1", "name": "look_up", "input": {"word": "x"}}
        answers = {key: {**SAMPLED, "content": [use, {**use, "id": "2"}]}}
        state = {"requestState": first["result"]["requestState"]}
        second = await client.ask("tools/call", **asked, **state, inputResponses=answers)
        ((key, wanted),) = second["result"]["inputRequests"].items()
        results = wanted["params"]["messages"][2]["content"]
        assert [(it["toolUseId"], it["content"][0]["text"]) for it in results] == [
            ("1", "xx"),
            ("2", "xx"),
        ]
        state = {"requestState": second["result"]["requestState"]}
        last = await client.ask("tools/call", **asked, **state, inputResponses={key: SAMPLED})
        assert last["result"]["content"][0]["text"] == "hi"

    serve(features, talk)


def test_sampled_content_returns_every_content_block() -> None:
    blocks = [
        {"type": "text", "text": "a"},
        {"type": "image", "data": "Yg==", "mimeType": "image/png"},
        {"type": "audio", "data": "Yw==", "mimeType": "audio/wav"},
        {"type": "tool_use", "id": "1", "name": "n", "input": {}, "_meta": {"k": 1}},
    ]
    read = (
        *(Text("a"), Image(b"b", "image/png"), Audio(b"c", "audio/wav")),
        ToolUse("1", "n", {}, {"k": 1}),
    )
    assert sampled_content({"content": blocks}) == read
    assert sampled_content({"content": blocks[0]}) == read[:1]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": 1, "name": "n", "input": {}},
        {"type": "tool_use", "id": "1", "name": "n"},
        {"type": "image", "data": "?", "mimeType": "image/png"},
        {"type": "tool_result", "toolUseId": "1", "content": []},
        {"type": "text"},
        "text",
    ],
)
def test_invalid_sampled_content_is_rejected(block: Any) -> None:
    with pytest.raises(ProtocolError, match="invalid answer of the client"):
        sampled_content({"content": block})


def form_of(field: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"field": field}}


CHOICES = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}


@pytest.mark.requirement("L023")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_form_has_only_field_types_of_its_revision(revision: str) -> None:
    for kind in ("string", "number", "integer", "boolean"):
        check_form(form_of({"type": kind}), BY_NAME[revision])
    if revision == "2025-06-18":
        with pytest.raises(ClientCannotError, match="have no array"):
            check_form(form_of(CHOICES), BY_NAME[revision])
    else:
        check_form(form_of(CHOICES), BY_NAME[revision])


@pytest.mark.parametrize("field", [{"type": "object"}, {"type": ["string", "null"]}, {}, True])
def test_an_invalid_form_field_type_raises_value_error(field: Any) -> None:
    for revision in REVISIONS:
        with pytest.raises(ValueError, match=r"invalid type .* of the form field 'field'"):
            check_form(form_of(field), revision)


def test_a_rejected_question_cancels_the_others() -> None:
    features = Features()

    @features.tool()
    async def asks(ctx: Context) -> str:
        await ctx.ask({"a": ask_form("?", FORM), "b": ask_form("?", FORM), "c": ask_roots()})
        return "answered"

    async def talk() -> None:
        dispatcher = Dispatcher(NoTools(), features)
        connection = MemoryConnection(features.extend(EMPTY, ()), dispatcher)
        capabilities = {"elicitation": {}, "roots": {}}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
        await connection.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        await connection.receive()
        await connection.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "asks"}}
        await connection.send(call)
        asked = [(await connection.receive())["id"] for _ in range(3)]
        no = {"code": -1, "message": "no"}
        await connection.send({"jsonrpc": "2.0", "id": asked[1], "error": no})
        heard = [await connection.receive() for _ in range(3)]
        taken_back = {it["params"]["requestId"] for it in heard if "method" in it}
        assert taken_back == {asked[0], asked[2]}
        (answer,) = (it for it in heard if it.get("id") == 1)
        assert answer["result"]["isError"] is True
        await connection.close()

    asyncio.run(asyncio.wait_for(talk(), BOUND_SECONDS))


NUMBERED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.requirement("L079", "N095")
@pytest.mark.parametrize(
    ("given", "is_good"),
    [
        ({"n": 1}, True),
        (ToolResult((Text("1"),), {"n": 1}), True),
        (ToolResult((Text("no"),), is_error=True), True),
        ({"n": "one"}, False),
        ({}, False),
        (ToolResult((Text("1"),)), False),
        (Text("1"), False),
    ],
)
def test_a_result_that_violates_its_output_schema_is_an_internal_error(
    given: Any, is_good: bool
) -> None:
    features = Features()

    @features.tool(output_schema=NUMBERED)
    def counts(ctx: Context) -> Any:
        return given

    async def talk(client: Client) -> None:
        answer = await client.ask("tools/call", name="counts")
        assert ("result" in answer) is is_good
        if not is_good:
            assert answer["error"]["code"] == -32603

    serve(features, talk)


@pytest.mark.requirement("L014")
def test_an_output_schema_that_is_not_an_object_type_is_rejected() -> None:
    with pytest.raises(
        ConfigurationError, match="`outputSchema` of `counts` has no `type: object`"
    ):

        @Features().tool(output_schema={"type": "array"})
        def counts(ctx: Context) -> ToolResult:
            raise ToolError("never called")
