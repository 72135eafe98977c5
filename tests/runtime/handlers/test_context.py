"""Tests of handlers that ask the client: by a request on legacy, by a result on 2026-07-28."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcpgen.contract.limits import Limits
from mcpgen.runtime import (
    ClientCannotError,
    Context,
    Features,
    ToolError,
    ToolResult,
    ask_form,
    ask_model,
    ask_roots,
)
from mcpgen.runtime.errors import UnknownToolError
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.state.request_state import KeyRingCipher
from mcpgen.runtime.transports.memory import MemoryConnection

MODERN = "2026-07-28"
LEGACY = ["2025-06-18", "2025-11-25"]
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 2}},
    "required": ["name"],
}
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}}
DEFINITION = ServerDefinition({"name": "asking", "version": "1"}, tools=PreparedList("tools"))


class NoTools:
    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise UnknownToolError(name)

    async def aclose(self) -> None:
        pass


def asking() -> Features:
    features = Features()

    @features.tool()
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", FORM, key="name")
        return f"Hello, {answer.content['name']}" if answer.is_accepted else answer.action

    @features.tool()
    async def fallback(ctx: Context) -> str:
        try:
            return str(await ctx.sample("Tell a joke.", max_tokens=5))
        except ClientCannotError as error:
            return f"no joke: {error}"

    @features.tool()
    async def two_rounds(ctx: Context, *, note: str = "") -> dict[str, Any]:
        first = await ctx.elicit("First?", FORM, key="first")
        ctx.state.setdefault("seen", []).append("after first")
        second = await ctx.elicit("Second?", FORM, key="second")
        names = [first.content["name"], second.content["name"]]
        return {"names": names, "note": note, "seen": ctx.state["seen"]}

    @features.tool()
    async def many(ctx: Context) -> dict[str, Any]:
        return await ctx.ask(
            {
                "name": ask_form("Name?", FORM),
                "joke": ask_model("Tell a joke.", max_tokens=5),
                "roots": ask_roots(),
            }
        )

    @features.tool()
    async def folders(ctx: Context) -> list[dict[str, Any]]:
        return await ctx.list_roots()

    @features.tool()
    async def pay(ctx: Context) -> str:
        return (await ctx.elicit_url("Pay here.", "https://pay.example/1", "e-1")).action

    paid: list[str] = []

    @features.tool()
    async def ship(ctx: Context) -> str:
        if not paid:
            paid.append("e-2")
            ctx.require_url("Pay first.", "https://pay.example/2", "e-2")
        ctx.finish_elicitation("e-2")
        return "shipped"

    @features.tool()
    async def insist(ctx: Context) -> str:
        ctx.require_url("Pay first.", "https://pay.example/3", "e-3")

    @features.tool()
    async def hurry(ctx: Context) -> str:
        ctx.client_timeout_seconds = 0.05
        return str((await ctx.elicit("Your name?", FORM)).content)

    @features.prompt()
    async def ask_prompt(ctx: Context) -> str:
        return str((await ctx.elicit("Your name?", FORM, key="name")).content)

    @features.prompt()
    async def broken_prompt(ctx: Context) -> str:
        raise ToolError("The style guide is not loaded yet.")

    @features.completion(prompt="ask_prompt", argument="name")
    async def ask_completion(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
        return [str((await ctx.elicit("Your name?", FORM)).content["name"])]

    return features


class Client:
    """A client of either era; `answer` returns the answers of the user, the model and the roots."""

    def __init__(
        self,
        revision: str,
        answer: Callable[[str, dict[str, Any]], Any],
        capabilities: dict[str, Any] | None = None,
        *,
        dispatcher: Dispatcher | None = None,
        client_timeout_seconds: float = 5.0,
    ) -> None:
        features = asking()
        self.revision = revision
        self.capabilities = EVERYTHING if capabilities is None else capabilities
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []
        self.rounds = 0
        self.dispatcher = dispatcher or Dispatcher(
            NoTools(), features, limits=Limits({"client_timeout_seconds": client_timeout_seconds})
        )
        self.connection = MemoryConnection(features.extend(DEFINITION, ()), self.dispatcher)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.request("tools/call", name=tool, arguments=arguments)

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        if self.revision == MODERN:
            return await self._modern(method, params)
        return await self._legacy(method, params)

    async def post(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send one modern request and return its response."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        }
        self.rounds += 1
        message = {
            "jsonrpc": "2.0",
            "id": self.rounds,
            "method": method,
            "params": {**params, "_meta": meta},
        }
        await self.connection.send(message)
        return dict(await self.connection.receive())

    async def _modern(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        more: dict[str, Any] = {}
        while True:
            response = await self.post(method, {**params, **more})
            result = response.get("result", {})
            if result.get("resultType") != "input_required":
                return response
            requests = result["inputRequests"]
            self.asked += requests.values()
            more = {
                "requestState": result["requestState"],
                "inputResponses": {
                    key: self.answer(request["method"], request["params"])
                    for key, request in requests.items()
                },
            }

    async def _legacy(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        send, receive = self.connection.send, self.connection.receive
        if not self.rounds:
            hello = {"protocolVersion": self.revision, "capabilities": self.capabilities}
            await send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
            assert "result" in await receive()
            await send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.rounds += 1
        await send({"jsonrpc": "2.0", "id": self.rounds, "method": method, "params": params})
        while True:
            message: dict[str, Any] = await receive()
            if "method" not in message:
                return message
            if "id" not in message:
                self.heard.append(message)
                continue
            self.asked.append(message)
            answer = self.answer(message["method"], message.get("params", {}))
            if answer is not None:
                await send({"jsonrpc": "2.0", "id": message["id"], "result": answer})


def accept(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "roots/list":
        return {"roots": [{"uri": "file:///home", "name": "home"}]}
    if method == "sampling/createMessage":
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Ha."}}
    name = {"First?": "one", "Second?": "two"}.get(params["message"], "Ada")
    return (
        {"action": "accept"}
        if params.get("mode") == "url"
        else {
            "action": "accept",
            "content": {"name": name},
        }
    )


def talk(client: Callable[[], Client], conversation: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        made = client()
        await conversation(made)
        await made.connection.close()

    asyncio.run(asyncio.wait_for(main(), 10))


def text(response: dict[str, Any]) -> str:
    assert "result" in response, response
    return str(response["result"]["content"][0]["text"])


@pytest.mark.requirement("L120", "L124", "N058", "N060", "N117", "N118", "N122")
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_a_form_is_sent_and_answered_in_every_revision(revision: str) -> None:
    async def conversation(client: Client) -> None:
        assert text(await client.call("greet")) == "Hello, Ada"
        (asked,) = client.asked
        assert asked["method"] == "elicitation/create"
        assert asked["params"]["requestedSchema"] == FORM
        assert ("mode" in asked["params"]) == (revision >= "2025-11-25")

    talk(lambda: Client(revision, accept), conversation)


@pytest.mark.requirement("N122", "L121")
@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_a_declined_or_cancelled_form_is_returned_to_the_handler(
    revision: str, action: str
) -> None:
    async def conversation(client: Client) -> None:
        assert text(await client.call("greet")) == action

    talk(lambda: Client(revision, lambda *_: {"action": action}), conversation)


@pytest.mark.requirement("L121", "N066", "N120")
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"action": "agree"},
        {"action": "accept", "content": []},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"name": "x"}},
        {"action": "accept", "content": {"name": 7}},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_an_answer_that_violates_the_form_is_rejected(
    revision: str, answer: dict[str, Any]
) -> None:
    async def conversation(client: Client) -> None:
        assert (await client.call("greet"))["error"]["code"] == -32602

    talk(lambda: Client(revision, lambda *_: answer), conversation)


@pytest.mark.requirement("N016", "N061")
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_a_handler_can_fall_back_if_the_client_lacks_a_capability(revision: str) -> None:
    async def conversation(client: Client) -> None:
        assert text(await client.call("fallback")).startswith("no joke: this client did not")

    talk(lambda: Client(revision, accept, {}), conversation)


@pytest.mark.requirement("N016")
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_a_missing_client_capability_is_reported_to_the_client(revision: str) -> None:
    async def conversation(client: Client) -> None:
        response = await client.call("greet")
        if revision == MODERN:
            assert response["error"]["code"] == -32021
            assert response["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}
        else:
            assert response["result"]["isError"] is True

    talk(lambda: Client(revision, accept, {}), conversation)


@pytest.mark.requirement("N062", "N063", "N068")
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_several_rounds_keep_earlier_answers(revision: str) -> None:
    async def conversation(client: Client) -> None:
        response = await client.call("two_rounds", note="kept")
        found = response["result"]["structuredContent"]
        assert found["names"] == ["one", "two"]
        assert found["note"] == "kept"
        assert set(found["seen"]) == {"after first"}
        assert len(client.asked) == 2

    talk(lambda: Client(revision, accept), conversation)


@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_several_requests_are_sent_to_the_client_at_once(revision: str) -> None:
    async def conversation(client: Client) -> None:
        found = (await client.call("many"))["result"]["structuredContent"]
        assert found["name"]["content"] == {"name": "Ada"}
        assert found["joke"]["model"] == "m"
        assert found["roots"]["roots"][0]["name"] == "home"
        assert len(client.asked) == 3
        assert revision != MODERN or client.rounds == 2

    talk(lambda: Client(revision, accept), conversation)


@pytest.mark.requirement("L113", "N125")
@pytest.mark.parametrize("revision", ["2024-11-05", *LEGACY, MODERN])
def test_roots_are_listed_in_every_revision(revision: str) -> None:
    async def conversation(client: Client) -> None:
        found = json.loads(text(await client.call("folders")))
        assert found == [{"uri": "file:///home", "name": "home"}]

    talk(lambda: Client(revision, accept), conversation)


@pytest.mark.requirement("L122", "L123", "L124")
@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_a_url_elicitation_is_sent_if_the_client_supports_it(revision: str) -> None:
    async def conversation(client: Client) -> None:
        assert text(await client.call("pay")) == "accept"
        (asked,) = client.asked
        assert asked["params"]["url"] == "https://pay.example/1"
        assert asked["params"]["mode"] == "url"
        # 2026-07-28 needs no id: the answer comes with the same call.
        assert ("elicitationId" in asked["params"]) == (revision != MODERN)

    talk(lambda: Client(revision, accept), conversation)


@pytest.mark.requirement("N058")
def test_a_prompt_can_ask_the_client() -> None:
    async def conversation(client: Client) -> None:
        response = await client.request("prompts/get", name="ask_prompt")
        assert "Ada" in response["result"]["messages"][0]["content"]["text"]

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_the_error_message_of_a_prompt_is_sent_to_the_client(revision: str) -> None:
    async def conversation(client: Client) -> None:
        response = await client.request("prompts/get", name="broken_prompt")
        assert response["error"] == {
            "code": -32603,
            "message": "The style guide is not loaded yet.",
        }

    talk(lambda: Client(revision, accept), conversation)


COMPLETION: dict[str, Any] = {
    "ref": {"type": "ref/prompt", "name": "ask_prompt"},
    "argument": {"name": "name", "value": ""},
}


def test_a_completion_that_asks_a_modern_client_is_an_error() -> None:
    async def conversation(client: Client) -> None:
        response = await client.request("completion/complete", **COMPLETION)
        assert response["error"]["code"] == -32603
        assert "only tools, prompts and resources may ask" in response["error"]["message"]
        assert client.rounds == 1

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.parametrize("revision", LEGACY)
def test_a_completion_can_ask_a_legacy_client(revision: str) -> None:
    async def conversation(client: Client) -> None:
        response = await client.request("completion/complete", **COMPLETION)
        assert response["result"]["completion"]["values"] == ["Ada"]

    talk(lambda: Client(revision, accept), conversation)


@pytest.mark.requirement("L024", "L025")
def test_a_question_without_an_answer_times_out_and_is_cancelled() -> None:
    async def conversation(client: Client) -> None:
        response = await client.call("greet")
        assert response["result"]["isError"] is True
        assert "did not answer within" in text(response)
        (cancelled,) = client.heard
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == client.asked[0]["id"]

    talk(lambda: Client(LEGACY[0], lambda *_: None, client_timeout_seconds=0.05), conversation)


@pytest.mark.requirement("L024")
def test_a_handler_can_set_the_timeout_for_the_client() -> None:
    async def conversation(client: Client) -> None:
        response = await client.call("hurry")
        assert text(response) == "the client did not answer within 0.05 s"

    talk(lambda: Client(LEGACY[0], lambda *_: None, client_timeout_seconds=3600), conversation)


async def first_round(client: Client, **arguments: Any) -> dict[str, Any]:
    """Make the first round of `two_rounds`; return the params of the second one."""
    params = {"name": "two_rounds", "arguments": arguments}
    result = (await client.post("tools/call", params))["result"]
    answers = {"first": {"action": "accept", "content": {"name": "one"}}}
    return {**params, "requestState": result["requestState"], "inputResponses": answers}


@pytest.mark.requirement("N063", "N064")
def test_a_request_state_with_a_changed_character_is_rejected() -> None:
    async def conversation(client: Client) -> None:
        second = await first_round(client)
        sealed = second["requestState"]
        for index in range(0, len(sealed), 7):
            changed = "A" if sealed[index] != "A" else "B"
            state = sealed[:index] + changed + sealed[index + 1 :]
            response = await client.post("tools/call", {**second, "requestState": state})
            assert response["error"]["code"] == -32602
        for state in ("", "x", sealed + "=", sealed + "A", sealed[:-1], "é"):
            if state:
                response = await client.post("tools/call", {**second, "requestState": state})
                assert response["error"]["code"] == -32602
        response = await client.post("tools/call", second)
        assert response["result"]["resultType"] == "input_required"

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.requirement("N063", "N064")
@pytest.mark.parametrize(
    "change",
    [{"arguments": {"note": "other"}}, {"name": "greet"}, {"arguments": {}, "extra": 1}],
    ids=json.dumps,
)
def test_a_request_state_is_valid_only_for_its_call(change: dict[str, Any]) -> None:
    async def conversation(client: Client) -> None:
        second = await first_round(client, note="mine")
        response = await client.post("tools/call", {**second, **change})
        assert response["error"]["code"] == -32602

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.requirement("N065")
def test_a_request_state_can_be_used_once() -> None:
    async def conversation(client: Client) -> None:
        second = await first_round(client)
        assert "result" in await client.post("tools/call", second)
        assert (await client.post("tools/call", second))["error"]["code"] == -32602

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.requirement("N012", "N013", "N062")
def test_another_process_with_the_same_key_continues_the_call() -> None:
    async def main() -> None:
        def elsewhere(key: bytes) -> Client:
            state_cipher = KeyRingCipher((key,))
            return Client(
                MODERN,
                accept,
                dispatcher=Dispatcher(NoTools(), asking(), state_cipher=state_cipher),
            )

        first, second, stranger = elsewhere(b"k" * 32), elsewhere(b"k" * 32), elsewhere(b"x" * 32)
        going_on = await first_round(first)
        assert (await stranger.post("tools/call", going_on))["error"]["code"] == -32602
        assert "result" in await second.post("tools/call", going_on)

    asyncio.run(asyncio.wait_for(main(), 10))


@pytest.mark.requirement("N067", "N068")
def test_missing_answers_are_requested_again_and_unknown_ones_ignored() -> None:
    async def conversation(client: Client) -> None:
        second = await first_round(client)
        strange = {**second, "inputResponses": {"other": {"action": "accept", "content": {}}}}
        again = (await client.post("tools/call", strange))["result"]
        assert again["resultType"] == "input_required"
        assert again["inputRequests"].keys() == {"first"}

    talk(lambda: Client(MODERN, accept), conversation)


def test_a_broad_except_in_a_handler_does_not_swallow_the_question() -> None:
    features = Features()

    @features.tool()
    async def careful(ctx: Context) -> str:
        try:
            return (await ctx.elicit("Your name?", FORM)).action
        except Exception:  # noqa: BLE001  (what careless handlers do)
            return "swallowed"

    async def conversation(client: Client) -> None:
        client.dispatcher._features = features
        response = await client.post("tools/call", {"name": "careful"})
        assert response["result"]["resultType"] == "input_required"

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.requirement("L125", "L126")
def test_a_call_continues_after_the_user_opened_the_required_url() -> None:
    async def conversation(client: Client) -> None:
        error = (await client.call("ship"))["error"]
        (elicitation,) = error["data"]["elicitations"]
        assert error["code"] == -32042
        assert elicitation["url"] == "https://pay.example/2"
        assert elicitation["elicitationId"] == "e-2"
        assert client.asked == []
        assert text(await client.call("ship")) == "shipped"
        (heard,) = client.heard
        assert heard["method"] == "notifications/elicitation/complete"
        assert heard["params"] == {"elicitationId": "e-2"}

    talk(lambda: Client("2025-11-25", accept), conversation)


@pytest.mark.requirement("N009", "N058", "N118")
def test_a_modern_client_receives_a_required_url_in_a_result() -> None:
    async def conversation(client: Client) -> None:
        assert text(await client.call("ship")) == "shipped"
        (asked,) = client.asked
        assert asked["params"] == {
            "mode": "url",
            "message": "Pay first.",
            "url": "https://pay.example/2",
        }

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.requirement("N122")
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_declined_url_ends_the_call_with_an_error(action: str) -> None:
    async def conversation(client: Client) -> None:
        client.answer = lambda *_: {"action": action}
        response = await client.call("insist")
        assert response["result"]["isError"] is True
        assert "would not go to https://pay.example/3" in text(response)
        assert len(client.asked) == 1

    talk(lambda: Client(MODERN, accept), conversation)


@pytest.mark.requirement("L123", "L126")
@pytest.mark.parametrize("tool", ["pay", "insist"])
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_a_missing_url_capability_is_reported_to_the_client(revision: str, tool: str) -> None:
    async def conversation(client: Client) -> None:
        response = await client.call(tool)
        if revision == MODERN:
            assert response["error"]["data"] == {
                "requiredCapabilities": {"elicitation": {"url": {}}}
            }
        else:
            assert response["result"]["isError"] is True
            assert "url mode" in text(response)

    talk(lambda: Client(revision, accept, {"elicitation": {}}), conversation)


def test_a_server_without_cryptography_reports_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def conversation(client: Client) -> None:
        response = await client.call("greet")
        assert response["result"]["isError"] is True
        assert "run `pip install 'mcpgen[seal]'`" in text(response)

    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    talk(lambda: Client(MODERN, accept), conversation)
    assert "pip install 'mcpgen[seal]'" in capsys.readouterr().err
