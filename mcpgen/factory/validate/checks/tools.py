"""Checks of the list of tools and of calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Final

from mcpgen.factory.validate.checks.calls import (
    CALL_SECONDS,
    call_tools,
    call_tools_wrongly,
    call_unknown_tool,
    find_refusal,
    is_success,
    list_texts,
)
from mcpgen.factory.validate.checks.exchange import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    describe_reply,
)
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.posts import EVENT_STREAM, content_type
from mcpgen.factory.validate.checks.tool_schemas import find_schema_faults
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    cannot_decide,
    fail,
    leave_untested,
    skip,
    succeed,
)
from mcpgen.factory.wire.frames import Frame
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.validation import SchemaValidator

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")
_HEADER_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_SECRET_WORDS: Final = re.compile(r"passw|secret|api_?key|token|credential", re.IGNORECASE)
_MAX_SHOWN: Final = 3
_AMBIGUOUS_CODES: Final = frozenset({-32602, -32603})
_NEEDS_OF_TOOLS: Final = frozenset({-32021, -32042})  # a capability, or a visit to a URL


def list_frames(probe: Probe, method: str) -> list[Frame]:
    """Return the frames of a list as evidence."""
    return [frame for reply in probe.lists.get(method, ())[:1] for frame in reply.frames]


async def check_capability(probe: Probe) -> Outcome:
    """The server answers `tools/list` exactly if it declares `tools`."""
    return await check_list_capability(probe, "tools", "tools/list", "tools")


async def check_list_capability(probe: Probe, capability: str, method: str, key: str) -> Outcome:
    """A declared capability has its list; what is not declared is not offered."""
    if probe.declares(capability):
        first = next(iter(probe.lists.get(method, ())), None)
        if first is None or first.result is None:
            answer = describe_reply(first) if first else "no response"
            return fail(
                f"`{capability}` is declared and `{method}` was answered with {answer}",
                first.frames if first else [],
            )
        return succeed()
    reply = await probe.request(method)
    items = (reply.result or {}).get(key)
    if isinstance(items, list) and items:
        return fail(f"the server offers {key} and does not declare `{capability}`", reply.frames)
    return skip(f"the server does not declare `{capability}`")


async def check_same_items(
    probe: Probe, kind: str, items: Sequence[JsonObject], *, key: str
) -> Outcome:
    """The set of items of a kind ("prompts") does not depend on the connection."""
    method = f"{kind}/list"
    first = sorted(str(item.get(key)) for item in items)
    second = sorted(str(item.get(key)) for item in (await probe.list_again())[method])
    if first != second:
        return fail(
            f"the set of {kind} differs between two connections", list_frames(probe, method)
        )
    return succeed()


async def check_names(probe: Probe) -> Outcome:
    """Names of tools have 1 to 128 letters, digits, `_`, `-` and `.`."""
    names = [str(tool.get("name")) for tool in probe.tools]
    wrong = [name for name in names if not _NAME.match(name)]
    if wrong:
        shown = ", ".join(f"`{name}`" for name in wrong[:_MAX_SHOWN])
        return fail(f"invalid names of tools: {shown}", list_frames(probe, "tools/list"))
    return succeed() if names else skip("the server lists no tool")


async def check_unique_names(probe: Probe) -> Outcome:
    """No two tools have the same name."""
    names = [str(tool.get("name")) for tool in probe.tools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return fail(f"two tools have the name `{twice[0]}`", list_frames(probe, "tools/list"))
    return succeed() if names else skip("the server lists no tool")


async def check_case(probe: Probe) -> Outcome:
    """The name of a tool in other case is not that tool."""
    names = {str(tool.get("name")) for tool in probe.tools}
    for call in (await probe.once(call_tools)).made:
        changed = call.name.swapcase()
        if changed in names or not call.is_success:
            continue
        params = {"name": changed, "arguments": call.arguments}
        reply = await probe.request("tools/call", params)
        if reply.result is not None and is_success(reply.result):
            return fail(f"`{changed}` was accepted for the tool `{call.name}`", reply.frames)
        return succeed()
    if not probe.tools:
        return skip("the server lists no tool")
    return leave_untested("no call of a tool whose name has letters succeeded")


async def check_schemas(probe: Probe) -> Outcome:
    """Input and output schemas of tools are valid in their dialect."""
    wrong = [
        f"`{key}` of the tool `{tool.get('name')}`: {fault}"
        for tool in probe.tools
        for key in ("inputSchema", "outputSchema")
        if key in tool
        for fault in find_schema_faults(tool[key], is_input=key == "inputSchema")[:1]
    ]
    if wrong:
        more = f"; and {len(wrong) - _MAX_SHOWN} more" if len(wrong) > _MAX_SHOWN else ""
        text = "; ".join(wrong[:_MAX_SHOWN])
        return fail(f"{text}{more}", list_frames(probe, "tools/list"))
    return succeed() if probe.tools else skip("the server lists no tool")


async def check_order(probe: Probe) -> Outcome:
    """Tools have the same order on another connection and after calls."""
    return await _compare_tools(probe, is_ordered=True)


async def check_same_set(probe: Probe) -> Outcome:
    """The set of tools depends neither on the connection nor on calls."""
    return await _compare_tools(probe, is_ordered=False)


async def _list_after_calls(probe: Probe) -> list[JsonObject]:
    """Return the tools as the same connection sees them after some calls."""
    await probe.once(call_tools)
    tools, _ = await (await probe.get_session()).list_all("tools/list", "tools")
    return [tool for tool in tools if isinstance(tool, dict)]


async def _compare_tools(probe: Probe, *, is_ordered: bool) -> Outcome:
    lists = {
        "on another connection": (await probe.list_again())["tools/list"],
        "after calls": await probe.once(_list_after_calls),
    }
    first = [str(tool.get("name")) for tool in probe.tools]
    for when, tools in lists.items():
        names = [str(tool.get("name")) for tool in tools]
        if is_ordered:
            common = set(names) & set(first)
            is_same = _select_names(names, common) == _select_names(first, common)
        else:
            is_same = sorted(names) == sorted(first)
        if not is_same:
            what = "order of tools" if is_ordered else "set of tools"
            return fail(f"the {what} is another one {when}", list_frames(probe, "tools/list"))
    return succeed()


def _select_names(names: Sequence[str], common: set[str]) -> list[str]:
    return [name for name in names if name in common]


# Calls


def _unless_refused(check: ActiveCheck) -> ActiveCheck:
    """Leave a check of calls undecided if the server refuses them all as invalid requests."""

    @wraps(check)
    async def run(probe: Probe) -> Outcome:
        refusal = await find_refusal(probe)
        if refusal is not None:
            return cannot_decide(
                f"every `tools/call` is refused with the error {refusal.code}", refusal.frames
            )
        return await check(probe)

    return run


@_unless_refused
async def check_unknown_tool_rejected(probe: Probe) -> Outcome:
    """A call of a tool that does not exist fails."""
    reply = await probe.once(call_unknown_tool)
    if reply.response is None:
        return fail("a call of an unknown tool was not answered", reply.frames)
    if reply.result is not None and reply.result.get("isError") is not True:
        if not is_success(reply.result):
            return cannot_decide(
                "a call of an unknown tool returned an error as text, without `isError`",
                reply.frames,
            )
        return fail("a call of an unknown tool succeeded", reply.frames)
    return succeed()


@_unless_refused
async def check_unknown_tool_code(probe: Probe) -> Outcome:
    """A call of a tool that does not exist gets the error -32602."""
    reply = await probe.once(call_unknown_tool)
    if reply.code != INVALID_PARAMS:
        return fail(
            f"a call of an unknown tool was answered with {describe_reply(reply)},"
            " expected the error -32602",
            reply.frames,
        )
    return succeed()


async def check_calls(probe: Probe) -> Outcome:
    """Listed tools can be called."""
    calls = await probe.once(call_tools)
    if not calls.made:
        return leave_untested(calls.reason) if probe.tools else skip(calls.reason)
    refusal = await find_refusal(probe)
    if refusal is not None:
        message = (refusal.error or {}).get("message")
        return fail(
            f"every `tools/call` is refused with the error {refusal.code}: {message}",
            calls.made[0].reply.frames,
        )
    for call in calls.made:
        if call.reply.code == METHOD_NOT_FOUND:
            return fail(
                f"the listed tool `{call.name}` was refused with the error -32601",
                call.reply.frames,
            )
        is_lost = call.reply.response is None and call.seconds < CALL_SECONDS / 2
        # Until 2025-11-25 a stream only SHOULD contain the response: `streams-respond`.
        is_stream = not probe.is_modern and content_type(call.reply) == EVENT_STREAM
        if is_lost and not is_stream:
            return fail(f"the call of `{call.name}` ended without a response", call.reply.frames)
    answered = [call for call in calls.made if call.reply.response is not None]
    if not answered:
        return cannot_decide("no call was answered in time", calls.made[0].reply.frames)
    if not any(call.is_complete and not call.is_error for call in answered):
        return cannot_decide(
            f"none of {len(answered)} calls succeeded; the sample arguments may be the reason",
            answered[0].reply.frames,
        )
    return succeed()


@_unless_refused
async def check_tool_errors(probe: Probe) -> Outcome:
    """Failures of a tool are results with `isError`, not protocol errors."""
    calls = await probe.once(call_tools)
    answered = [call for call in calls.made if call.reply.response is not None]
    if not answered:
        return leave_untested(calls.reason) if probe.tools else skip(calls.reason)
    for call in answered:
        if call.reply.code in _AMBIGUOUS_CODES:
            return cannot_decide(
                f"`{call.name}` failed with the protocol error {call.reply.code}, which may not"
                " come from the tool",
                call.reply.frames,
            )
        if call.reply.code is not None and call.reply.code not in _NEEDS_OF_TOOLS:
            return fail(
                f"`{call.name}` failed with the protocol error {call.reply.code}",
                call.reply.frames,
            )
    return succeed()


@_unless_refused
async def check_arguments_validated(probe: Probe) -> Outcome:
    """Arguments that the schema of a tool rejects are refused."""
    calls = await probe.once(call_tools_wrongly)
    if not calls.made:
        return leave_untested(calls.reason) if probe.tools else skip("the server lists no tool")
    for call in calls.made:
        if call.is_success:
            return fail(
                f"`{call.name}` accepted arguments {call.fault}",
                call.reply.frames,
            )
    unclear = [it for it in calls.made if not it.is_error and it.reply.error is None]
    if len(unclear) == len(calls.made):
        return cannot_decide(
            "calls with invalid arguments returned an error as text or nothing, without `isError`",
            unclear[0].reply.frames,
        )
    return succeed()


@_unless_refused
async def check_argument_errors(probe: Probe) -> Outcome:
    """Invalid arguments are reported in a result with `isError`."""
    calls = await probe.once(call_tools_wrongly)
    if not calls.made:
        return leave_untested(calls.reason) if probe.tools else skip("the server lists no tool")
    refused = [call for call in calls.made if call.is_error or call.reply.error is not None]
    if not refused:
        return cannot_decide("no call with invalid arguments was refused")
    for call in refused:
        if call.reply.error is not None:
            return fail(
                f"`{call.name}` with arguments {call.fault} was answered with the protocol error"
                f" {call.reply.code}, expected a result with `isError`",
                call.reply.frames,
            )
    return succeed()


async def check_structured_content(probe: Probe) -> Outcome:
    """Results of tools with an output schema have structured content that is valid against it."""
    checked = 0
    for call in (await probe.once(call_tools)).made:
        schema = call.tool.get("outputSchema")
        if not isinstance(schema, dict) or not call.is_complete or call.is_error:
            continue
        result = call.reply.result or {}
        if "structuredContent" not in result:
            return fail(
                f"the result of `{call.name}` has no `structuredContent`", call.reply.frames
            )
        try:
            problems = SchemaValidator(schema).problems(result["structuredContent"])
        except ValueError:
            continue  # the schema is invalid or refers to another document
        if problems:
            return fail(
                f"the structured content of `{call.name}` is not valid: {problems[0]}",
                call.reply.frames,
            )
        checked += 1
    if checked:
        return succeed()
    if any("outputSchema" in tool for tool in probe.tools):
        return leave_untested("no successful call of a tool with an output schema")
    return skip("no tool has an output schema")


async def check_structured_text(probe: Probe) -> Outcome:
    """Structured content is repeated as JSON in a text block."""
    checked = 0
    for call in (await probe.once(call_tools)).made:
        result = call.reply.result or {}
        if not call.is_complete or call.is_error or "structuredContent" not in result:
            continue
        checked += 1
        if not _repeats(result.get("content"), result["structuredContent"]):
            return fail(
                f"no text block of the result of `{call.name}` repeats its structured content",
                call.reply.frames,
            )
    if checked:
        return succeed()
    if any("outputSchema" in tool for tool in probe.tools):
        return leave_untested("no successful call of a tool with an output schema")
    return skip("no result has structured content")


def _repeats(content: Any, structured: Any) -> bool:
    """Whether a text block, or all together, repeat the structured content or its only member."""
    texts = list_texts(content)
    values = [_parse(text) for text in texts]
    expected = [structured]
    if isinstance(structured, dict) and len(structured) == 1:
        expected += structured.values()  # frameworks wrap values other than objects in one member
    return any(value in values or value in texts or value in (values, texts) for value in expected)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def check_embedded_resources(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A server whose tools return embedded resources declares `resources`."""
    for frame in frames:
        result = frame.body.get("result")
        if frame.answered_method != "tools/call" or not isinstance(result, dict):
            continue
        content = result.get("content")
        blocks = content if isinstance(content, list) else []
        if any(isinstance(it, dict) and it.get("type") == "resource" for it in blocks):
            if not probe.declares("resources"):
                return fail("a tool returned a resource and `resources` is not declared", [frame])
            return succeed()
    return skip("no tool returned an embedded resource")


# Headers from arguments (2026-07-28)


async def check_header_annotations(probe: Probe) -> Outcome:
    """`x-mcp-header` is a unique token on a property that is a string, an integer or a boolean."""
    found = 0
    for tool in probe.tools:
        seen: set[str] = set()
        for path, schema, is_reachable in _iterate_annotated(tool.get("inputSchema"), "", True):
            found += 1
            name = schema["x-mcp-header"]
            fault = ""
            if not isinstance(name, str) or not _HEADER_TOKEN.match(name):
                fault = "is not a header name"
            elif name.lower() in seen:
                fault = "is used twice"
            elif schema.get("type") not in ("string", "integer", "boolean"):
                fault = "is not on a string, an integer or a boolean"
            elif not is_reachable:
                fault = "is not reachable through `properties` alone"
            if fault:
                return fail(
                    f"`x-mcp-header` of `{path}` in the tool `{tool.get('name')}` {fault}",
                    list_frames(probe, "tools/list"),
                )
            seen.add(name.lower())
    return succeed() if found else skip("no tool has `x-mcp-header`")


async def check_sensitive_headers(probe: Probe) -> Outcome:
    """Secrets are not sent in headers."""
    found = 0
    for tool in probe.tools:
        for path, _schema, _ in _iterate_annotated(tool.get("inputSchema"), "", True):
            found += 1
            if _SECRET_WORDS.search(path):
                return fail(
                    f"`x-mcp-header` marks `{path}` of the tool `{tool.get('name')}`",
                    list_frames(probe, "tools/list"),
                )
    return succeed() if found else skip("no tool has `x-mcp-header`")


def _iterate_annotated(
    node: Any, path: str, is_reachable: bool
) -> Iterator[tuple[str, JsonObject, bool]]:
    """Yield the path and schema of each annotated place, and whether headers may come from it."""
    if isinstance(node, list):
        for item in node:
            yield from _iterate_annotated(item, path, False)
    if not isinstance(node, dict):
        return
    if "x-mcp-header" in node:
        yield path, node, is_reachable and bool(path)
    for key, value in node.items():
        if key == "properties" and isinstance(value, dict):
            for name, schema in value.items():
                inner = f"{path}.{name}" if path else name
                yield from _iterate_annotated(schema, inner, is_reachable)
        elif key not in ("enum", "const", "default", "examples"):
            yield from _iterate_annotated(value, path or key, False)


ACTIVE: Mapping[str, ActiveCheck] = {
    "tools-capability": check_capability,
    "tool-names": check_names,
    "tool-names-unique": check_unique_names,
    "tool-names-case-sensitive": check_case,
    "tool-schemas-valid": check_schemas,
    "tool-schemas-valid-earlier": check_schemas,
    "tools-order": check_order,
    "tools-same-everywhere": check_same_set,
    "unknown-tool-rejected": check_unknown_tool_rejected,
    "unknown-tool-code": check_unknown_tool_code,
    "tools-callable": check_calls,
    "tool-errors-in-results": check_tool_errors,
    "tool-arguments-validated": check_arguments_validated,
    "tool-argument-errors": check_argument_errors,
    "structured-content": check_structured_content,
    "structured-content-text": check_structured_text,
    "header-annotations": check_header_annotations,
    "header-annotations-not-sensitive": check_sensitive_headers,
}
PASSIVE: Mapping[str, PassiveCheck] = {"embedded-resources": check_embedded_resources}
