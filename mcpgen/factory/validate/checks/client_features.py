"""Checks of what a server asks its client: elicitation, sampling, roots, and the modern rounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from mcpgen.factory.validate.checks.calls import (
    FULL_CLIENT,
    Call,
    call_tool,
    call_tools,
    call_tools_as_full_client,
)
from mcpgen.factory.validate.checks.exchange import describe_reply
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.messages import check_each
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome, cannot_decide, fail, skip, succeed
from mcpgen.factory.wire.frames import Frame
from mcpgen.factory.wire.session import META_PREFIX, Reply
from mcpgen.jsonschema.types import JsonObject

_INPUT_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
_CAPABILITY_OF: Final[Mapping[str, str]] = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
_SECRET: Final = re.compile(
    r"(?:^|[_\W])(?:password|passwd|passphrase|api[_-]?key|secret|access[_-]?token|private[_-]?key"
    r"|credit[_-]?card|cvv)(?:$|[_\W])",
    re.IGNORECASE,
)
_ALL_CAPABILITIES: Final[JsonObject] = {f"{META_PREFIX}clientCapabilities": FULL_CLIENT}
_NO_INPUT: Final = "the server asked for no input"
_NO_ELICITATION: Final = "the server asked the user nothing"


def _is_input_required(result: Any) -> bool:
    return isinstance(result, dict) and result.get("resultType") == "input_required"


def _iterate_requests(message: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the method and params of each question in a message: legacy requests and rounds."""
    if "method" in message and "id" in message:
        found = [message]
    else:
        result = message.get("result")
        requests = result.get("inputRequests") if isinstance(result, dict) else None
        found = list(requests.values()) if isinstance(requests, dict) else []
    for request in found:
        if isinstance(request, dict) and isinstance(request.get("method"), str):
            params = request.get("params")
            yield request["method"], params if isinstance(params, dict) else {}


def _find_client_capabilities(probe: Probe, frame: Frame) -> JsonObject:
    """Return the client capabilities that hold for a frame: of its request, or its handshake."""
    if probe.is_modern:
        params = frame.request.body.get("params", {}) if frame.request is not None else {}
        found = params.get("_meta", {}).get(f"{META_PREFIX}clientCapabilities", {})
        return found if isinstance(found, dict) else {}
    for sent in probe.frames:
        is_own = sent.connection == frame.connection and not sent.is_received
        if is_own and sent.method == "initialize":
            declared: JsonObject = sent.body.get("params", {}).get("capabilities", {})
            return declared
    return {}


# Elicitation and sampling, in both eras


def check_elicitation_shape(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """An elicitation has a message, and a schema or a valid URL."""

    def check(_frame: Frame, message: JsonObject) -> str | None:
        found = None
        for method, params in _iterate_requests(message):
            if method != "elicitation/create":
                continue
            found = ""
            if not isinstance(params.get("message"), str):
                return "an elicitation has no `message`"
            if params.get("mode") == "url":
                if not _is_absolute_url(params.get("url")):
                    return "an elicitation has no valid `url`"
                if not probe.is_modern and not isinstance(params.get("elicitationId"), str):
                    return "an elicitation by URL has no `elicitationId`"
            elif not isinstance(params.get("requestedSchema"), dict):
                return "an elicitation has no `requestedSchema`"
        return found

    return check_each(frames, check, _NO_ELICITATION)


def _is_absolute_url(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)


def check_elicitation_modes(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """An elicitation has a mode that the client declared."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        found = None
        for method, params in _iterate_requests(message):
            if method != "elicitation/create":
                continue
            declared = _find_client_capabilities(probe, frame).get("elicitation")
            if declared is None:
                continue  # elicitation as a whole is a matter of other checks
            modes = {"form"} if declared == {} else set(declared)
            mode = params.get("mode", "form")
            found = ""
            if mode not in modes:
                return f"an elicitation has the mode {mode!r}, which the client did not declare"
        return found

    return check_each(frames, check, _NO_ELICITATION)


def check_elicited_secrets(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Forms do not ask for passwords and other secrets."""

    def check(_frame: Frame, message: JsonObject) -> str | None:
        found = None
        for method, params in _iterate_requests(message):
            if method != "elicitation/create" or params.get("mode", "form") != "form":
                continue
            found = ""
            schema = params.get("requestedSchema")
            properties = schema.get("properties") if isinstance(schema, dict) else None
            for name in properties if isinstance(properties, dict) else ():
                if _SECRET.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)):
                    return f"a form asks for `{name}`"
        return found

    return check_each(frames, check, _NO_ELICITATION)


def check_elicitation_urls(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """URLs of elicitations are HTTPS, and forms contain no URLs to follow."""

    def check(_frame: Frame, message: JsonObject) -> str | None:
        found = None
        for method, params in _iterate_requests(message):
            if method != "elicitation/create" or params.get("mode") != "url":
                continue
            found = ""
            parts = urlsplit(str(params.get("url")))
            is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
            if parts.scheme != "https" and not is_local:
                return "the URL of an elicitation is not HTTPS"
        return found

    return check_each(frames, check, "the server asked the user to visit no URL")


def check_url_errors(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """The error -32042 lists elicitations by URL, each with an id."""

    def check(_frame: Frame, message: JsonObject) -> str | None:
        error = message.get("error")
        if not isinstance(error, dict) or error.get("code") != -32042:
            return None
        data = error.get("data")
        listed = data.get("elicitations") if isinstance(data, dict) else None
        if not isinstance(listed, list) or not listed:
            return "the error -32042 lists no elicitations"
        for item in listed:
            is_complete = isinstance(item, dict) and item.get("mode") == "url"
            if not is_complete or not isinstance(item.get("elicitationId"), str):
                return "the error -32042 lists an elicitation without `mode: url` or an id"
        return ""

    return check_each(frames, check, "the server sent no error -32042")


def check_sampling_tools(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A request for sampling has tools only if the client declared `sampling.tools`."""

    def find_fault(params: JsonObject) -> str:
        if params.keys() & {"tools", "toolChoice"}:
            return "sampling was requested with tools, which the client did not declare"
        return ""

    return _check_sampling(probe, frames, "tools", find_fault)


def check_sampling_context(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A request for sampling does not ask for the context of other servers."""

    def find_fault(params: JsonObject) -> str:
        if params.get("includeContext") in ("thisServer", "allServers"):
            return f"sampling was requested with {params['includeContext']!r}"
        return ""

    return _check_sampling(probe, frames, "context", find_fault)


def _check_sampling(
    probe: Probe, frames: Sequence[Frame], member: str, find_fault: Callable[[JsonObject], str]
) -> Outcome:
    """Judge the params of requests for sampling unless the client declared `sampling.MEMBER`."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        found = None
        for method, params in _iterate_requests(message):
            if method == "sampling/createMessage":
                declared = _find_client_capabilities(probe, frame).get("sampling")
                is_allowed = isinstance(declared, dict) and member in declared
                found = "" if is_allowed else find_fault(params)
                if found:
                    return found
        return found

    return check_each(frames, check, "the server requested no sampling")


# Rounds of 2026-07-28


def check_input_methods(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Only tools/call, prompts/get and resources/read ask for input."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if "result" not in message:
            return None
        is_wrong = _is_input_required(message["result"])
        is_wrong = is_wrong and frame.answered_method not in _INPUT_METHODS
        return f"`{frame.answered_method}` asked for input" if is_wrong else ""

    return check_each(frames, check, "the server sent no result")


def check_input_shape(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A result that asks for input has questions of known kinds, or a state, or both."""

    def check(_frame: Frame, message: JsonObject) -> str | None:
        result = message.get("result")
        if not isinstance(result, dict) or not _is_input_required(result):
            return None
        if not result.keys() & {"inputRequests", "requestState"}:
            return "a result asks for input without `inputRequests` and `requestState`"
        for method, _ in _iterate_requests(message):
            if method not in _CAPABILITY_OF:
                return f"a result asks for `{method}`"
        return ""

    return check_each(frames, check, _NO_INPUT)


def check_input_kinds(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """A result asks only for what the client declared in that request."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if "result" not in message:
            return None
        for method, _ in _iterate_requests(message):
            needed = _CAPABILITY_OF.get(method, "")
            if needed and needed not in _find_client_capabilities(probe, frame):
                return f"a result asks for `{method}`, which the client did not declare"
        return ""

    return check_each(frames, check, "the server sent no result")


async def _find_asking_call(probe: Probe) -> Call | None:
    """Return a call whose result asked for input."""
    calls = await probe.once(call_tools_as_full_client)
    return next((it for it in calls.made if _is_input_required(it.reply.result)), None)


async def _ask_again(probe: Probe, *, needs_state: bool = False) -> Call | None:
    """Repeat a call whose result asked for input: its `requestState` may be valid only once."""
    for call in (await probe.once(call_tools_as_full_client)).made:
        if not _is_input_required(call.reply.result):
            continue
        if needs_state and not isinstance((call.reply.result or {}).get("requestState"), str):
            continue
        reply = await probe.request("tools/call", call.params, meta=_ALL_CAPABILITIES)
        if _is_input_required(reply.result):
            return Call(call.tool, call.arguments, reply, call.seconds)
    return None


async def _retry(
    probe: Probe, call: Call, responses: JsonObject, state: str | None = None
) -> Reply:
    """Call a tool again with answers, as a client that declares everything.

    `state` replaces the `requestState` that the server sent.
    """
    params: JsonObject = {**call.params, "inputResponses": responses}
    sent = (call.reply.result or {}).get("requestState")
    if sent is not None:
        params["requestState"] = sent if state is None else state
    return await probe.request("tools/call", params, meta=_ALL_CAPABILITIES)


def _answers(call: Call) -> JsonObject:
    """Return an answer to each question of a call: decline, no roots, a short text."""
    result = call.reply.result or {}
    texts: Mapping[str, JsonObject] = {
        "elicitation/create": {"action": "decline"},
        "roots/list": {"roots": []},
        "sampling/createMessage": {
            "role": "assistant",
            "content": {"type": "text", "text": "mcpgen"},
            "model": "mcpgen",
        },
    }
    requests = result.get("inputRequests")
    return {
        key: texts.get(str(it.get("method")), {})
        for key, it in (requests.items() if isinstance(requests, dict) else ())
        if isinstance(it, dict)
    }


async def check_capability_errors(probe: Probe) -> Outcome:
    """A tool that needs a capability of the client says so with the error -32021."""
    call = await _find_asking_call(probe)
    without = (await probe.once(call_tools)).made
    if call is None:
        return skip("no read-only tool asks for input")
    same = next((it for it in without if it.name == call.name), None)
    if same is None:
        if call.name not in {tool.get("name") for tool in probe.tools}:
            return skip("no read-only tool that asks for input is offered to every client")
        same = await call_tool(await probe.get_session(), call.tool, call.arguments)
    if same.reply.code is not None and same.reply.code != -32021:
        return fail(
            f"`{call.name}` without the needed capability was answered with the error"
            f" {same.reply.code}, expected -32021",
            same.reply.frames,
        )
    if same.reply.code == -32021:
        data = (same.reply.error or {}).get("data")
        if not isinstance(data, dict) or not isinstance(data.get("requiredCapabilities"), dict):
            return fail("the error -32021 does not name the capabilities", same.reply.frames)
    return succeed()


async def check_decline(probe: Probe) -> Outcome:
    """A tool whose question is declined still answers, and ignores answers that it did not ask."""
    call = await _ask_again(probe)
    if call is None:
        return skip(_NO_INPUT)
    answers = {**_answers(call), "mcpgen-unknown-key": {"action": "decline"}}
    reply = await _retry(probe, call, answers)
    if reply.result is None:
        return fail(
            f"`{call.name}` with declined input was answered with {describe_reply(reply)}",
            reply.frames,
        )
    return succeed()


async def check_missing_answers(probe: Probe) -> Outcome:
    """A tool that does not get a needed answer asks again."""
    call = await _ask_again(probe)
    if call is None:
        return skip(_NO_INPUT)
    reply = await _retry(probe, call, {})
    if reply.error is not None:
        return fail(
            f"`{call.name}` without the answers was answered with the error {reply.code},"
            " expected the questions again",
            reply.frames,
        )
    return succeed()


async def check_malformed_answers(probe: Probe) -> Outcome:
    """Answers of the wrong shape are refused with an error."""
    call = await _ask_again(probe)
    if call is None or not _answers(call):
        return skip(_NO_INPUT)
    reply = await _retry(probe, call, dict.fromkeys(_answers(call), 7))
    if reply.result is not None and not _is_input_required(reply.result):
        return fail(f"`{call.name}` accepted malformed answers", reply.frames)
    return succeed()


async def check_state_protected(probe: Probe) -> Outcome:
    """A changed `requestState` is refused."""
    call = await _ask_again(probe, needs_state=True)
    state = str((call.reply.result or {}).get("requestState", "")) if call is not None else ""
    if call is None or not state:
        return skip("no read-only tool sent a `requestState`")
    middle = len(state) // 2
    changed = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
    reply = await _retry(probe, call, _answers(call), changed)
    if reply.error is not None:
        return succeed()
    return cannot_decide(
        "a changed `requestState` was accepted; it matters only if the state decides anything",
        reply.frames,
    )


async def call_tools_as_form_client(probe: Probe) -> None:
    """Call tools that sent the user to a URL again, as a client that only has forms."""
    names = set()
    for call in (await probe.once(call_tools_as_full_client)).made:
        messages = [call.reply.body, *_requests_during(probe, call)]
        if any(
            params.get("mode") == "url" for it in messages for _, params in _iterate_requests(it)
        ):
            names.add(call.name)
    if not names:
        return
    calls = await probe.once(call_tools_as_full_client)
    async with probe.fresh(capabilities={"elicitation": {}}) as session:
        for call in [it for it in calls.made if it.name in names]:
            await session.request("tools/call", call.params)


def _requests_during(probe: Probe, call: Call) -> list[JsonObject]:
    """Return the requests of the server between a call and its response."""
    request, response = call.reply.request, call.reply.response
    end = response.seconds if response is not None else request.seconds + call.seconds
    return [
        frame.body
        for frame in probe.frames
        if frame.is_received
        and frame.connection == request.connection
        and request.seconds <= frame.seconds <= end
        and "id" in frame.body
    ]


ACTIVE: Mapping[str, ActiveCheck] = {
    "missing-capability-error": check_capability_errors,
    "declined-input-handled": check_decline,
    "missing-answers-asked-again": check_missing_answers,
    "malformed-answers-refused": check_malformed_answers,
    "request-state-protected": check_state_protected,
}
PASSIVE: Mapping[str, PassiveCheck] = {
    "elicitation-shape": check_elicitation_shape,
    "elicitation-modes": check_elicitation_modes,
    "elicitation-without-secrets": check_elicited_secrets,
    "elicitation-urls": check_elicitation_urls,
    "url-elicitation-errors": check_url_errors,
    "sampling-tools": check_sampling_tools,
    "sampling-context": check_sampling_context,
    "input-methods": check_input_methods,
    "input-shape": check_input_shape,
    "input-kinds-declared": check_input_kinds,
}
