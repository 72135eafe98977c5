"""Checks of prompts and of completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcpgen.factory.validate.checks.exchange import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    describe_reply,
)
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.messages import check_each
from mcpgen.factory.validate.checks.resources import is_base64, is_media_type
from mcpgen.factory.validate.checks.tools import (
    check_list_capability,
    check_same_items,
)
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
from mcpgen.factory.wire.session import Reply
from mcpgen.jsonschema.types import JsonObject

_MAX_PROMPTS: Final = 4
_MAX_COMPLETIONS: Final = 100
_SAMPLE: Final = "1"  # of each argument: valid as text and as a number
_NO_PROMPT: Final = "mcpgen_no_such_prompt"


def _arguments(prompt: JsonObject) -> list[JsonObject]:
    found = prompt.get("arguments")
    return [it for it in found if isinstance(it, dict)] if isinstance(found, list) else []


def _names(prompt: JsonObject, *, only_required: bool = False) -> list[str]:
    return [
        str(it["name"])
        for it in _arguments(prompt)
        if "name" in it and (it.get("required") is True or not only_required)
    ]


async def check_capability(probe: Probe) -> Outcome:
    """The server answers `prompts/list` exactly if it declares `prompts`."""
    return await check_list_capability(probe, "prompts", "prompts/list", "prompts")


async def _get_prompts(probe: Probe) -> list[tuple[str, Reply]]:
    found = []
    for prompt in probe.prompts[:_MAX_PROMPTS]:
        if isinstance(prompt.get("name"), str):
            params: JsonObject = {
                "name": prompt["name"],
                "arguments": dict.fromkeys(_names(prompt), _SAMPLE),
            }
            found.append((prompt["name"], await probe.request("prompts/get", params)))
    return found


async def check_get(probe: Probe) -> Outcome:
    """Listed prompts can be fetched."""
    fetched = await probe.once(_get_prompts)
    if not fetched:
        return skip("the server lists no prompt")
    for name, reply in fetched:
        if reply.response is None or reply.code == METHOD_NOT_FOUND:
            return fail(
                f"the listed prompt `{name}` was answered with {describe_reply(reply)}",
                reply.frames,
            )
    if all(reply.result is None for _, reply in fetched):
        return cannot_decide("no listed prompt could be fetched", fetched[0][1].frames)
    return succeed()


def check_content(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Images and audio are base64 with a media type; embedded resources have their members."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if frame.answered_method not in ("prompts/get", "tools/call"):
            return None
        found = None
        for block in _iterate_blocks(message.get("result")):
            problem = _find_fault(block)
            if problem:
                return f"{problem} in the result of `{frame.answered_method}`"
            found = problem if problem is not None else found
        return found

    return check_each(frames, check, "no result contains an image, audio or a resource")


def _iterate_blocks(result: Any) -> Iterator[JsonObject]:
    if not isinstance(result, dict):
        return
    content = result.get("content")
    messages = result.get("messages")
    blocks = list(content) if isinstance(content, list) else []
    for message in messages if isinstance(messages, list) else []:
        blocks.append(message.get("content") if isinstance(message, dict) else None)
    yield from (block for block in blocks if isinstance(block, dict))


def _find_fault(block: JsonObject) -> str | None:
    """Return the fault of a content block; None if nothing is required of its kind."""
    kind = block.get("type")
    if kind in ("image", "audio"):
        if not is_base64(block.get("data")):
            return f"`data` of {kind} content is not base64"
        return (
            "" if is_media_type(block.get("mimeType")) else f"invalid `mimeType` of {kind} content"
        )
    if kind != "resource":
        return None
    resource = block.get("resource")
    if not isinstance(resource, dict) or not isinstance(resource.get("uri"), str):
        return "an embedded resource has no `uri`"
    if not resource.keys() & {"text", "blob"}:
        return "an embedded resource has neither `text` nor `blob`"
    if "blob" in resource and not is_base64(resource["blob"]):
        return "the `blob` of an embedded resource is not base64"
    return ""


def check_resource_types(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Resources that prompts embed have a media type."""

    def check(frame: Frame, message: JsonObject) -> str | None:
        if frame.answered_method != "prompts/get":
            return None
        found = None
        for block in _iterate_blocks(message.get("result")):
            resource = block.get("resource")
            if block.get("type") == "resource" and isinstance(resource, dict):
                found = ""
                if not is_media_type(resource.get("mimeType")):
                    return "a resource in a prompt has no valid `mimeType`"
        return found

    return check_each(frames, check, "no prompt embeds a resource")


async def check_unknown(probe: Probe) -> Outcome:
    """A prompt that does not exist gets the error -32602."""
    reply = await probe.request("prompts/get", {"name": _NO_PROMPT})
    if reply.code != INVALID_PARAMS:
        return fail(
            f"an unknown prompt was answered with {describe_reply(reply)},"
            " expected the error -32602",
            reply.frames,
        )
    return succeed()


async def check_required_arguments(probe: Probe) -> Outcome:
    """A prompt without a required argument gets the error -32602."""
    prompt = next((it for it in probe.prompts if _names(it, only_required=True)), None)
    if prompt is None:
        return skip("no prompt has a required argument")
    reply = await probe.request("prompts/get", {"name": prompt["name"], "arguments": {}})
    if reply.code != INVALID_PARAMS:
        return fail(
            f"the prompt `{prompt['name']}` without its required argument was answered with"
            f" {describe_reply(reply)}, expected the error -32602",
            reply.frames,
        )
    return succeed()


async def check_same_set(probe: Probe) -> Outcome:
    """The set of prompts does not depend on the connection."""
    return await check_same_items(probe, "prompts", probe.prompts, key="name")


# Completion


def _completable(probe: Probe) -> JsonObject | None:
    """Return the params of a completion of a listed prompt or template; None without either."""
    for prompt in probe.prompts:
        for name in _names(prompt):
            return {
                "ref": {"type": "ref/prompt", "name": prompt["name"]},
                "argument": {"name": name, "value": ""},
            }
    for template in probe.templates:
        uri = str(template.get("uriTemplate", ""))
        if "{" in uri:
            variable = uri.partition("{")[2].partition("}")[0].lstrip("+#./;?&").rstrip("*")
            return {
                "ref": {"type": "ref/resource", "uri": uri},
                "argument": {"name": variable.split(",")[0], "value": ""},
            }
    return None


async def _complete(probe: Probe) -> Reply | None:
    params = _completable(probe)
    return None if params is None else await probe.request("completion/complete", params)


async def check_completion_capability(probe: Probe) -> Outcome:
    """The server completes arguments exactly if it declares `completions`."""
    reply = await probe.once(_complete)
    if not probe.declares("completions"):
        values = ((reply.result if reply else None) or {}).get("completion", {}).get("values")
        if reply is not None and values:
            return fail("the server completes and does not declare `completions`", reply.frames)
        return skip("the server does not declare `completions`")
    if reply is None:
        return leave_untested("no prompt and no template has an argument to complete")
    if reply.response is None or reply.code == METHOD_NOT_FOUND:
        return fail(
            f"`completions` is declared and `completion/complete` was answered with"
            f" {describe_reply(reply)}",
            reply.frames,
        )
    return succeed()


async def check_completion_values(probe: Probe) -> Outcome:
    """A completion has at most 100 values."""
    reply = await probe.once(_complete)
    if reply is None:
        return leave_untested("no prompt and no template has an argument to complete")
    if reply.result is None:
        return cannot_decide("the completion was refused", reply.frames)
    values = reply.result.get("completion", {}).get("values")
    if isinstance(values, list) and len(values) > _MAX_COMPLETIONS:
        return fail(f"a completion has {len(values)} values, allowed are 100", reply.frames)
    return succeed()


async def check_completion_reference(probe: Probe) -> Outcome:
    """A completion for an unknown prompt gets the error -32602."""
    params = {
        "ref": {"type": "ref/prompt", "name": _NO_PROMPT},
        "argument": {"name": "x", "value": ""},
    }
    reply = await probe.request("completion/complete", params)
    if reply.code != INVALID_PARAMS:
        return fail(
            f"a completion for an unknown prompt was answered with {describe_reply(reply)},"
            " expected the error -32602",
            reply.frames,
        )
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "prompts-capability": check_capability,
    "prompts-available": check_get,
    "unknown-prompt-code": check_unknown,
    "prompt-arguments-required": check_required_arguments,
    "prompts-same-everywhere": check_same_set,
    "completions-capability": check_completion_capability,
    "completion-values": check_completion_values,
    "completion-reference-code": check_completion_reference,
}
PASSIVE: Mapping[str, PassiveCheck] = {
    "content-encoding": check_content,
    "prompt-resource-types": check_resource_types,
}
