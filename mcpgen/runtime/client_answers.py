"""What clients answer when they are asked, held to what they were asked before a handler has it."""

from __future__ import annotations

from binascii import a2b_base64
from dataclasses import dataclass, field
from typing import Any

from mcpgen.runtime.content import Audio, Image, JsonObject, SamplingContent, Text, ToolUse
from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS


@dataclass(frozen=True, slots=True)
class Elicited:
    """What the user did with a form or a URL: "accept" (with `content`), "decline", "cancel"."""

    action: str
    content: JsonObject = field(default_factory=dict)

    @property
    def is_accepted(self) -> bool:
        """Tell whether the user agreed, so that `content` counts."""
        return self.action == "accept"


def check_answer(request: JsonObject, answer: JsonObject) -> None:
    """Return if this is an answer to the request, given as its `method` and `params`.

    Raises:
        ProtocolError: it is not; says why.
    """
    match request["method"]:
        case "elicitation/create":
            _check_elicited(elicited(answer), request["params"])
        case "sampling/createMessage":
            _check_sampled(answer)
        case "roots/list":
            _check_roots(answer.get("roots"))


def elicited(answer: JsonObject) -> Elicited:
    """Give what the user did.

    Raises:
        ProtocolError: the answer does not say it.
    """
    action, content = answer.get("action"), answer.get("content", {})
    if action not in {"accept", "decline", "cancel"} or not isinstance(content, dict):
        raise _malformed("it has no action that MCP knows")
    return Elicited(action, content if action == "accept" else {})


def sampled_content(answer: JsonObject) -> tuple[SamplingContent, ...]:
    """Give what the client's model said: of a `CreateMessageResult` the content, block by block.

    Raises:
        ProtocolError: a block is not what MCP says that it is.
    """
    content = answer["content"]
    return tuple(map(_sampled, content if isinstance(content, list) else [content]))


def _sampled(block: Any) -> SamplingContent:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return Image(_bytes(data), mime_type)
        case {"type": "audio", "data": str(data), "mimeType": str(mime_type)}:
            return Audio(_bytes(data), mime_type)
        case {"type": "tool_use", "id": str(id), "name": str(name), "input": dict(arguments)}:
            meta = block.get("_meta")
            return ToolUse(id, name, arguments, meta if isinstance(meta, dict) else {})
    raise _malformed("a block of its content is none that a model gives")


def _bytes(data: str) -> bytes:
    try:
        return a2b_base64(data, strict_mode=True)
    except ValueError:
        raise _malformed("a picture or sound in it is not base64") from None


def _check_elicited(given: Elicited, params: JsonObject) -> None:
    if given.is_accepted and "requestedSchema" in params:
        from mcpgen.runtime.validation import SchemaValidator  # imports the validator

        if problems := SchemaValidator(params["requestedSchema"]).problems(given.content):
            raise _malformed("; ".join(problems))


def _check_sampled(answer: JsonObject) -> None:
    content = answer.get("content")
    blocks = content if isinstance(content, list) else [content]
    if not all(isinstance(it, dict) and isinstance(it.get("type"), str) for it in blocks):
        raise _malformed("its content has no type")
    if answer.get("role") not in ("user", "assistant") or not isinstance(answer.get("model"), str):
        raise _malformed("it names no role, or no model")


def _check_roots(roots: Any) -> None:
    if not isinstance(roots, list) or not all(
        isinstance(root, dict) and isinstance(root.get("uri"), str) for root in roots
    ):
        raise _malformed("it names no roots")


def _malformed(why: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"the client's answer cannot be used: {why}")
