"""Calls of tools that are read-only, which several checks examine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpgen.factory.validate.arguments import (
    NoArgumentsError,
    make_arguments,
    make_invalid_arguments,
)
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.wire.http import HttpConnection, find_parameter_headers
from mcpgen.factory.wire.session import META_PREFIX, Answer, Reply, Session
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.jsonschema.types import JsonObject

MAX_TOOLS: Final = 10
_INVALID_CALLS: Final = 4
_ASKING_CALLS: Final = 6
CALL_SECONDS: Final = 10.0
_UNKNOWN_TOOL: Final = "mcpgen_no_such_tool"
_INVALID_REQUEST: Final = -32600
_ERROR_WORDS: Final = re.compile(
    r"\b(?:errors?|failed|unknown|unsupported|invalid|missing|not found|no such|does not exist)\b",
    re.IGNORECASE,
)
FULL_CLIENT: Final[JsonObject] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
    "sampling": {},
}
_ASKING: Final = re.compile(
    r"elicit|sampl|roots|input[_ -]?requ|capabilit|confirm|approv|\bask", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool and the reply; `seconds` is how long it took."""

    tool: JsonObject
    arguments: JsonObject
    reply: Reply
    seconds: float
    fault: str = ""  # fault of the arguments; "" if they are valid

    @property
    def name(self) -> str:
        """The name of the tool."""
        return str(self.tool["name"])

    @property
    def params(self) -> JsonObject:
        """The params of `tools/call`."""
        return {"name": self.name, "arguments": self.arguments}

    @property
    def is_error(self) -> bool:
        """Whether the tool reported an error in its result."""
        return bool((self.reply.result or {}).get("isError"))

    @property
    def is_complete(self) -> bool:
        """Whether the reply is a final result, error or not."""
        result = self.reply.result
        return result is not None and result.get("resultType", "complete") == "complete"

    @property
    def is_success(self) -> bool:
        """Return whether the reply states that the tool succeeded."""
        result = self.reply.result
        return self.is_complete and result is not None and is_success(result)


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of several tools, and why others were not called."""

    made: list[Call]
    reason: str  # why there are none


def is_success(result: JsonObject) -> bool:
    """Whether the result of a tool reports no error, neither by `isError` nor in its text.

    Some servers report errors in the text alone, so a text about errors proves no success.
    """
    return not result.get("isError") and not any(
        _ERROR_WORDS.search(text) for text in list_texts(result.get("content"))
    )


def list_texts(content: Any) -> list[str]:
    """Return the texts of content blocks."""
    blocks = [it for it in content if isinstance(it, dict)] if isinstance(content, list) else []
    return [str(it.get("text")) for it in blocks if it.get("type") == "text"]


def callable_tools(probe: Probe) -> list[JsonObject]:
    """Return tools that may be called: with a name, and read-only unless writes are allowed.

    Tools with an output schema come first, because their results show more. Of many tools, a few
    that exercise more of the protocol come before them.
    """
    found = [tool for tool in probe.tools if isinstance(tool.get("name"), str)]
    usable = [it for it in found if probe.may_call(it) and _task_support(it) != "required"]
    usable.sort(key=lambda tool: "outputSchema" not in tool)
    special = [
        *[it for it in usable if "logging" in it["name"].lower()][:2],
        *[it for it in usable if "progress" in it["name"].lower()][:2],
        *[it for it in usable if any(find_parameter_headers(it))][:1],
    ]
    late = [it for it in special if it not in usable[: MAX_TOOLS - len(special)]]
    return [*late, *(it for it in usable if it not in late)]


def _task_support(tool: JsonObject) -> Any:
    execution = tool.get("execution")
    return execution.get("taskSupport") if isinstance(execution, dict) else None


async def call_tools(probe: Probe) -> Calls:
    """Call read-only tools once each with valid arguments, without any client capability."""
    session = await probe.get_session()
    made: list[Call] = []
    reasons: list[str] = []
    for tool in callable_tools(probe):
        if len(made) >= MAX_TOOLS:
            break
        if tool["name"] in probe.known.slow:
            continue
        try:
            call = await call_tool(session, tool, make_arguments(tool))
        except NoArgumentsError as error:
            reasons.append(f"`{tool['name']}`: {error}")
            continue
        made.append(call)
        if call.reply.response is None:
            probe.known.slow.add(call.name)
    return Calls(made, explain_no_calls(probe, reasons))


def explain_no_calls(probe: Probe, reasons: list[str]) -> str:
    """Return the reason why no tool was called."""
    if not probe.tools:
        return "the server lists no tool"
    if reasons:
        return reasons[0]
    return "no tool is marked as read-only (`annotations.readOnlyHint`); --allow-writes calls all"


def explain_no_slow_call(probe: Probe, calls: Calls, purpose: str) -> str:
    """Return the reason why no answered call was slow enough for a purpose ("be cancelled")."""
    for name in sorted(probe.known.slow):
        return f"`{name}` is not answered in {CALL_SECONDS:g} seconds, and no other tool is slow"
    if not calls.made:
        return calls.reason
    return f"no read-only tool takes long enough to {purpose}"


async def call_unknown_tool(probe: Probe) -> Reply:
    """Call a tool that does not exist."""
    return await probe.request("tools/call", {"name": _UNKNOWN_TOOL, "arguments": {}})


async def find_refusal(probe: Probe) -> Reply | None:
    """Return a reply if each `tools/call` is refused as an invalid request, whatever it calls."""
    unknown = await probe.once(call_unknown_tool)
    if unknown.code != _INVALID_REQUEST:
        return None
    made = (await probe.once(call_tools)).made
    return unknown if made and all(it.reply.error == unknown.error for it in made) else None


async def call_tools_wrongly(probe: Probe) -> Calls:
    """Call read-only tools with arguments that their schemas reject."""
    session = await probe.get_session()
    made: list[Call] = []
    for tool in callable_tools(probe):
        if len(made) >= _INVALID_CALLS:
            break
        found = make_invalid_arguments(tool)
        if found is not None:
            arguments, fault = found
            made.append(await call_tool(session, tool, arguments, fault))
    if not callable_tools(probe):
        return Calls(made, explain_no_calls(probe, []))
    return Calls(made, "no read-only tool has a schema that certainly rejects some arguments")


async def call_tools_as_full_client(probe: Probe) -> Calls:
    """Call read-only tools as a client that declares elicitation, roots and sampling.

    Requests of the server are answered, so that its calls complete.
    """
    made: list[Call] = []
    answers: dict[str, Answer] = {
        "elicitation/create": lambda _params: {"action": "decline"},
        "roots/list": lambda _params: {"roots": []},
        "sampling/createMessage": lambda _params: {
            "role": "assistant",
            "content": {"type": "text", "text": "mcpgen"},
            "model": "mcpgen",
            "stopReason": "endTurn",
        },
    }
    async with probe.fresh(capabilities=FULL_CLIENT, answers=answers) as session:
        if isinstance(session.connection, HttpConnection) and not probe.is_modern:
            await session.connection.open_stream()  # where some servers send their requests
        listed, _ = await session.list_all("tools/list", "tools")
        for capability in ("prompts", "resources"):
            if probe.declares(capability):
                await session.request(f"{capability}/list")
        tools = [tool for tool in listed if isinstance(tool, dict) and "name" in tool]
        new = {tool.get("name") for tool in probe.tools}
        usable = [it for it in tools if probe.may_call(it)]
        # Tools that only appear for such a client are the likeliest to ask it something.
        usable.sort(key=lambda it: (it["name"] in new, not _mentions_input(it)))
        for tool in usable[:_ASKING_CALLS]:
            if _task_support(tool) == "required" or tool["name"] in probe.known.slow:
                continue
            try:
                made.append(await call_tool(session, tool, make_arguments(tool)))
            except NoArgumentsError:
                continue
            if made[-1].reply.response is None:
                probe.known.slow.add(made[-1].name)
        await _repeat_without_capabilities(session, made)
    return Calls(made, explain_no_calls(probe, []))


def _mentions_input(tool: JsonObject) -> bool:
    return bool(_ASKING.search(f"{tool['name']} {tool.get('description')}"))


async def _repeat_without_capabilities(session: Session, made: Sequence[Call]) -> None:
    """Call a tool that asked for input again on the same connection, as a client without any."""
    for call in made:
        if (call.reply.result or {}).get("resultType") == "input_required":
            meta: JsonObject = {f"{META_PREFIX}clientCapabilities": {}}
            await session.request("tools/call", call.params, meta=meta)
            return


async def call_tool(
    session: Session, tool: JsonObject, arguments: JsonObject, fault: str = ""
) -> Call:
    """Call a tool with a progress token and return the reply.

    A call that is not answered in time is cancelled, so that it costs the server no more.
    """
    loop_time = session.connection.recording.clock
    began = loop_time()
    reply = await session.request(
        "tools/call",
        {"name": tool["name"], "arguments": arguments},
        meta={"progressToken": f"progress-{session.last_id + 1}"},
        timeout_seconds=CALL_SECONDS,
    )
    seconds = loop_time() - began
    # A modern client over HTTP cancels by closing the stream.
    can_cancel = not session.is_modern or isinstance(session.connection, StdioConnection)
    if reply.response is None and can_cancel and not session.connection.lost:
        await session.notify("notifications/cancelled", {"requestId": reply.request.body["id"]})
    return Call(tool, arguments, reply, seconds, fault)
