"""Tests of handwritten tools, resources, prompts and completions, served in memory."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

from mcpgen.runtime import (
    ABSENT,
    Absent,
    Completion,
    ConfigurationError,
    Context,
    Features,
    Image,
    PromptMessage,
    PromptResult,
    ResourceContents,
    Text,
    ToolError,
    ToolResult,
)
from mcpgen.runtime.errors import UnknownToolError
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.transports.memory import MemoryConnection

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
EMPTY = ServerDefinition({"name": "hand", "version": "1"}, tools=PreparedList("tools"))


class NoTools:
    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise UnknownToolError(name)

    async def aclose(self) -> None:
        pass


class Client:
    """A modern client that sends one request after the other."""

    def __init__(self, features: Features) -> None:
        self.connection = MemoryConnection(
            features.extend(EMPTY, ()), Dispatcher(NoTools(), features)
        )
        self.heard: list[dict[str, Any]] = []

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        params = {**params, "_meta": META | params.get("_meta", {})}
        await self.connection.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        while True:
            message: dict[str, Any] = await self.connection.receive()
            if "method" not in message:
                return message
            self.heard.append(message)

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.ask(method, **params)
        assert "error" not in answer, answer
        return dict(answer["result"])

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return await self.result("tools/call", name=name, arguments=arguments)


def serve(features: Features, talk: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        client = Client(features)
        await talk(client)
        await client.connection.close()

    asyncio.run(asyncio.wait_for(main(), 10))


class Place(TypedDict):
    city: str
    zip: str


@dataclass
class Weather:
    degrees: float
    sky: str = "clear"


def example() -> Features:
    features = Features(logs=True, subscriptions=True, changing=("tools",))

    @features.tool(title="Weather", annotations={"readOnlyHint": True})
    async def weather(
        ctx: Context,
        *,
        place: Place,
        days: Annotated[int, msgspec.Meta(ge=1, le=7)] = 1,
        unit: Literal["C", "F"] = "C",
        note: str | Absent = ABSENT,
    ) -> Weather:
        """Tell the weather.

        Args:
            place: where; both
                parts of it.
            days: how many days.
        """
        assert note is ABSENT
        return Weather(20.0 + days, place["city"])

    @features.tool()
    def total(ctx: Context, *, numbers: list[int]) -> int:
        """Add numbers."""
        return sum(numbers)

    @features.tool()
    async def picture(ctx: Context) -> Image:
        """Draw."""
        return Image(b"png", "image/png")

    @features.tool("fail")
    async def fails(ctx: Context) -> str:
        """Fail."""
        raise ToolError("there is no paper in the tray")

    @features.tool()
    async def work(ctx: Context) -> str:
        """Work, and say so."""
        ctx.report_progress(1, 2, "half")
        ctx.log("info", {"step": 1})
        ctx.announce_change("tools")
        return "done"

    @features.resource("test://motd", name="motd", mime_type="text/markdown")
    async def motd(ctx: Context) -> str:
        """Say the message of the day."""
        return "# Hello"

    @features.resource("test://user/{id}")
    async def user(ctx: Context, *, id: int) -> list[ResourceContents] | bytes | None:
        """Read a user."""
        if id == 404:
            return None
        return b"\x00" if id == 1 else [ResourceContents(f"test://user/{id}", text=str(id))]

    @features.prompt(title="Review")
    async def review(ctx: Context, *, code: str, tone: str = "kind") -> list[PromptMessage]:
        """Review code.

        Args:
            code: what to read.
        """
        return [PromptMessage("user", Text(f"Be {tone}: {code}"))]

    @features.prompt()
    async def greet(ctx: Context) -> str:
        """Greet."""
        return "Hello"

    @features.completion(prompt="review", argument="tone")
    async def tones(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
        return [tone for tone in ("kind", "keen", *arguments) if tone.startswith(value)]

    @features.completion(template="test://user/{id}", argument="id")
    def ids(ctx: Context, value: str, arguments: dict[str, str]) -> Completion:
        return Completion(("1",), total=7)

    return features


def test_a_tool_is_listed_from_its_signature_and_docstring() -> None:
    async def talk(client: Client) -> None:
        tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
        assert list(tools) == ["fail", "picture", "total", "weather", "work"]
        weather = tools["weather"]
        assert weather["title"] == "Weather"
        assert weather["description"] == "Tell the weather."
        assert weather["annotations"] == {"readOnlyHint": True}
        schema = weather["inputSchema"]
        assert schema["required"] == ["place"]
        assert schema["additionalProperties"] is False
        properties = schema["properties"]
        assert properties["place"]["$ref"] == "#/$defs/Place"
        assert properties["place"]["description"] == "where; both parts of it."
        assert properties["days"] == {
            "description": "how many days.",
            "type": "integer",
            "minimum": 1,
            "maximum": 7,
            "default": 1,
        }
        assert properties["unit"] == {"enum": ["C", "F"], "default": "C"}
        assert properties["note"] == {"type": "string"}
        assert weather["outputSchema"]["type"] == "object"
        assert "degrees" in weather["outputSchema"]["properties"]
        assert tools["total"]["outputSchema"]["properties"] == {"result": {"type": "integer"}}
        assert "outputSchema" not in tools["picture"]
        assert "outputSchema" not in tools["fail"]

    serve(example(), talk)


@pytest.mark.requirement("L080", "N096")
def test_a_tool_returns_the_result_of_its_function() -> None:
    async def talk(client: Client) -> None:
        result = await client.call("weather", place={"city": "Oslo", "zip": "0150"}, days=2)
        assert result["structuredContent"] == {"degrees": 22.0, "sky": "Oslo"}
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert (await client.call("total", numbers=[1, 2]))["structuredContent"] == {"result": 3}
        assert (await client.call("picture"))["content"][0]["type"] == "image"

    serve(example(), talk)


@pytest.mark.requirement("L075", "N098")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"place": {"city": "Oslo"}},
        {"place": {"city": "Oslo", "zip": "0150"}, "days": 8},
        {"place": {"city": "Oslo", "zip": "0150"}, "days": "2"},
        {"place": {"city": "Oslo", "zip": "0150"}, "unit": "K"},
        {"place": {"city": "Oslo", "zip": "0150"}, "other": 1},
    ],
    ids=str,
)
def test_invalid_arguments_do_not_reach_the_function(
    arguments: dict[str, Any],
) -> None:
    async def talk(client: Client) -> None:
        assert (await client.call("weather", **arguments))["isError"] is True

    serve(example(), talk)


def test_a_tool_error_is_returned_to_the_model() -> None:
    async def talk(client: Client) -> None:
        result = await client.call("fail")
        assert result["isError"] is True
        assert result["content"][0]["text"] == "there is no paper in the tray"

    serve(example(), talk)


@pytest.mark.requirement("N040", "N077", "N079", "N090")
def test_progress_and_logs_of_a_function_are_sent_to_the_client() -> None:
    async def talk(client: Client) -> None:
        meta = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "info"}
        await client.result("tools/call", name="work", _meta=meta)
        progress, message = client.heard
        assert progress["params"] == {
            "progressToken": "p",
            "progress": 1,
            "total": 2,
            "message": "half",
        }
        assert message["params"] == {"level": "info", "data": {"step": 1}}

    serve(example(), talk)


@pytest.mark.requirement("L037", "L110", "N078", "N082")
def test_a_flood_of_progress_and_logs_is_throttled() -> None:
    features = Features(logs=True)

    @features.tool()
    async def hurry(ctx: Context) -> str:
        for step in range(10_000):
            ctx.report_progress(step)
            ctx.log("info", step)
        return "done"

    async def talk(client: Client) -> None:
        meta = {"progressToken": 1, "io.modelcontextprotocol/logLevel": "info"}
        await client.result("tools/call", name="hurry", _meta=meta)
        kinds = Counter(message["method"] for message in client.heard)
        assert 0 < kinds["notifications/progress"] < 100
        assert 0 < kinds["notifications/message"] < 100

    serve(features, talk)


def test_resources_are_read_by_uri_and_by_template() -> None:
    async def talk(client: Client) -> None:
        listed = (await client.result("resources/list"))["resources"]
        assert listed == [
            {
                "uri": "test://motd",
                "name": "motd",
                "description": "Say the message of the day.",
                "mimeType": "text/markdown",
            }
        ]
        templates = (await client.result("resources/templates/list"))["resourceTemplates"]
        assert [template["uriTemplate"] for template in templates] == ["test://user/{id}"]
        for uri, contents in {
            "test://motd": {"mimeType": "text/markdown", "text": "# Hello"},
            "test://user/1": {"mimeType": "application/octet-stream", "blob": "AA=="},
            "test://user/2": {"text": "2"},
        }.items():
            result = await client.result("resources/read", uri=uri)
            assert result["contents"] == [{"uri": uri, **contents}]
        for uri in ("test://user/404", "test://nothing"):
            error = (await client.ask("resources/read", uri=uri))["error"]
            assert error["code"] == -32602
            assert error["data"] == {"uri": uri}

    serve(example(), talk)


def test_prompts_return_messages() -> None:
    async def talk(client: Client) -> None:
        prompts = {each["name"]: each for each in (await client.result("prompts/list"))["prompts"]}
        assert prompts["review"]["arguments"] == [
            {"name": "code", "description": "what to read.", "required": True},
            {"name": "tone", "required": False},
        ]
        assert "arguments" not in prompts["greet"]
        result = await client.result("prompts/get", name="review", arguments={"code": "x"})
        assert result["messages"][0]["content"]["text"] == "Be kind: x"
        assert result["description"] == "Review code."
        greeting = await client.result("prompts/get", name="greet")
        assert greeting["messages"] == [
            {"role": "user", "content": {"type": "text", "text": "Hello"}}
        ]

    serve(example(), talk)


@pytest.mark.requirement("L106", "N114", "N115")
def test_completions_return_suggested_values() -> None:
    async def talk(client: Client) -> None:
        reference = {"type": "ref/prompt", "name": "review"}
        suggested = await client.result(
            "completion/complete",
            ref=reference,
            argument={"name": "tone", "value": "ke"},
            context={"arguments": {"kestrel": "x"}},
        )
        assert suggested["completion"]["values"] == ["keen", "kestrel"]
        nothing = await client.result(
            "completion/complete", ref=reference, argument={"name": "code", "value": ""}
        )
        assert nothing["completion"] == {"values": [], "total": 0, "hasMore": False}
        ids = await client.result(
            "completion/complete",
            ref={"type": "ref/resource", "uri": "test://user/{id}"},
            argument={"name": "id", "value": ""},
        )
        assert ids["completion"] == {"values": ["1"], "total": 7, "hasMore": True}

    serve(example(), talk)


def test_features_of_several_modules_are_joined() -> None:
    first, second = ModuleType("first"), ModuleType("second")
    first.features = example()  # type: ignore[attr-defined]
    second.features = Features()  # type: ignore[attr-defined]
    second.imported_again = first.features  # type: ignore[attr-defined]

    @second.features.tool()  # type: ignore[untyped-decorator]
    def extra(ctx: Context) -> str:
        return "x"

    definition = Features.join([first, second]).extend(EMPTY, ())
    assert definition.tools is not None
    assert {"extra", "weather"} <= definition.tools.items.keys()
    assert definition.has_logging
    assert definition.changing_lists == {"tools"}


@pytest.mark.parametrize("kind", ["prompt", "resource", "tool"])
def test_a_decorator_without_parentheses_is_rejected_with_its_location(kind: str) -> None:
    def forgotten(ctx: Context) -> str:
        return ""

    with pytest.raises(ConfigurationError, match=rf"test_features.py:\d+: write .*{kind}\("):
        getattr(Features(), kind)(forgotten)


def test_a_duplicate_name_is_rejected() -> None:
    features = example()
    with pytest.raises(ConfigurationError, match="two features are the tool 'weather'"):
        features.tool("weather")(lambda ctx: "x")
    generated = b'{"name":"total","inputSchema":{"type":"object"}}'
    with pytest.raises(ConfigurationError, match="duplicate tool `total`"):
        features.extend(EMPTY, [generated])


@pytest.mark.parametrize("uri", ["test://{a}{b}", "test://{", "test://{a b}"])
def test_an_ambiguous_resource_template_is_rejected(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="resource template"):
        Features().resource(uri)(lambda ctx: "x")


@pytest.mark.requirement("L083", "L084", "N092")
@pytest.mark.parametrize("name", ["a b", "a,b", "ä", "x" * 65, "a/b"])
def test_an_invalid_tool_name_is_rejected(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"1 to 64 of A-Z a-z 0-9 _ \. -"):
        Features().tool(name)(lambda ctx: "x")


@pytest.mark.requirement("L085", "L086", "N092")
def test_tool_names_are_case_sensitive() -> None:
    features = Features()
    features.tool("Same")(lambda ctx: "upper")
    features.tool("same")(lambda ctx: "lower")

    async def talk(client: Client) -> None:
        assert (await client.call("Same"))["content"][0]["text"] == "upper"
        assert (await client.call("same"))["content"][0]["text"] == "lower"

    serve(features, talk)


def test_a_keyword_without_a_type_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match=r"test_features\.py:\d+: `untyped`: `x` has no"):

        @Features().tool()
        def untyped(ctx, *, x):  # type: ignore[no-untyped-def]
            return x


def test_a_prompt_can_return_a_prompt_result() -> None:
    features = Features()

    @features.prompt()
    def own(ctx: Context) -> PromptResult:
        return PromptResult((PromptMessage("assistant", Text("hm")),), "Mine.")

    async def talk(client: Client) -> None:
        result = await client.result("prompts/get", name="own")
        assert result["description"] == "Mine."
        assert result["messages"][0]["role"] == "assistant"

    serve(features, talk)


def test_a_tool_with_the_name_of_an_alias_is_rejected() -> None:
    features = Features()

    @features.tool("old_name")
    def greet(ctx: Context) -> str:
        """Greet."""
        return "hello"

    with pytest.raises(ConfigurationError, match="`old_name` is an alias of `new_name`"):
        features.extend(EMPTY, (), {"old_name": "new_name"})
