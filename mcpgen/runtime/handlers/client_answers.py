"""Validation of a client's answers before a handler receives them."""

from __future__ import annotations

from binascii import a2b_base64
from typing import Any

from msgspec import Struct, field

from mcpgen.runtime.content import Audio, Image, JsonObject, SamplingContent, Text, ToolUse
from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS


class Elicited(Struct, frozen=True):
    """The user's action on a form or a URL: "accept" (with `content`), "decline" or "cancel"."""

    action: str
    content: JsonObject = field(default_factory=dict)

    @property
    def is_accepted(self) -> bool:
        """Whether the user accepted, so that `content` is valid."""
        return self.action == "accept"


def check_answer(request: JsonObject, answer: JsonObject) -> None:
    """Check an answer against its request, an object with `method` and `params`.

    Raises:
        ProtocolError: the answer is invalid.
    """
    match request["method"]:
        case "elicitation/create":
            _check_form_answer(read_elicitation(answer), request["params"])
        case "sampling/createMessage":
            _check_model_answer(answer)
        case "roots/list":
            _check_roots(answer.get("roots"))


def read_elicitation(answer: JsonObject) -> Elicited:
    """Return the user's action.

    Raises:
        ProtocolError: the answer has no valid action.
    """
    action, content = answer.get("action"), answer.get("content", {})
    if action not in {"accept", "decline", "cancel"} or not isinstance(content, dict):
        raise _make_answer_error("unknown action")
    return Elicited(action, content if action == "accept" else {})


def sampled_content(answer: JsonObject) -> tuple[SamplingContent, ...]:
    """Return the content blocks of a `CreateMessageResult`.

    Raises:
        ProtocolError: a block is invalid.
    """
    content = answer["content"]
    return tuple(map(_read_sampled_block, content if isinstance(content, list) else [content]))


def _read_sampled_block(block: Any) -> SamplingContent:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return Image(_decode_base64(data), mime_type)
        case {"type": "audio", "data": str(data), "mimeType": str(mime_type)}:
            return Audio(_decode_base64(data), mime_type)
        case {"type": "tool_use", "id": str(id), "name": str(name), "input": dict(arguments)}:
            meta = block.get("_meta")
            return ToolUse(id, name, arguments, meta if isinstance(meta, dict) else {})
    raise _make_answer_error("unknown content block")


def _decode_base64(data: str) -> bytes:
    try:
        return a2b_base64(data, strict_mode=True)
    except ValueError:
        raise _make_answer_error("an image or audio block is not base64") from None


def _check_form_answer(answer: Elicited, params: JsonObject) -> None:
    if answer.is_accepted and "requestedSchema" in params:
        from mcpgen.jsonschema.validation import SchemaValidator  # imports the validator

        if problems := SchemaValidator(params["requestedSchema"]).problems(answer.content):
            raise _make_answer_error("; ".join(problems))


def _check_model_answer(answer: JsonObject) -> None:
    content = answer.get("content")
    blocks = content if isinstance(content, list) else [content]
    if not all(isinstance(it, dict) and isinstance(it.get("type"), str) for it in blocks):
        raise _make_answer_error("a content block has no type")
    if answer.get("role") not in ("user", "assistant") or not isinstance(answer.get("model"), str):
        raise _make_answer_error("missing role or model")


def _check_roots(roots: Any) -> None:
    if not isinstance(roots, list) or not all(
        isinstance(root, dict) and isinstance(root.get("uri"), str) for root in roots
    ):
        raise _make_answer_error("missing roots")


def _make_answer_error(why: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"invalid answer of the client: {why}")
