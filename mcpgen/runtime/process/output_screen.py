"""Filter for outgoing messages: it masks secrets and removes invisible characters.

Every message of a call passes through it: results of generated and hand-written tools, prompts,
resources, errors, elicitations, progress and log messages.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from mcpgen.runtime.content import JsonObject, Text, ToolResult
from mcpgen.runtime.protocol.jsonrpc import Encode, encode_json
from mcpgen.runtime.upstream.response.redaction import Redactor
from mcpgen.text.invisible import visible

REMOVED_KEY: Final = "mcpgen/invisibleCharactersRemoved"

_BACKSLASH: Final = ord("\\")  # one byte is found 15 times faster than a sequence
_DELETE: Final = 0x7F

_FOR_PROGRAMS: Final = frozenset(
    {
        "_meta", "blob", "const", "default", "enum", "id", "mimeType", "pattern",
        "requestState", "structuredContent", "toolUseId", "type", "uri", "url",
    }
)  # fmt: skip
"""Members that only programs read."""
_PROTOCOL_MEMBERS: Final = frozenset(
    {
        "id", "jsonrpc", "method", "mimeType", "mode", "progressToken", "requestState",
        "resultType", "role", "type",
    }
)  # fmt: skip
"""Members with protocol values, which a secret might equal by chance."""
_BINARY: Final = frozenset({"image", "audio"})


class OutputScreen:
    """Filter that uses the current `redactor` to mask secrets."""

    def __init__(self, redactor: Callable[[], Redactor]) -> None:
        self._redactor = redactor

    def clean(self, message: JsonObject, data: bytes, encode: Encode) -> bytes:
        """Return an encoded response without invisible characters and secrets.

        `data` is `message` encoded by `encode`; it is returned if there is nothing to clean.
        """
        # JSON in ASCII has control characters only as escape sequences, except for DELETE.
        if not data.isascii() or _BACKSLASH in data or _DELETE in data:
            readable = self._make_response_readable(message)
            if readable is not message:
                message, data = readable, encode(readable)
        redactor = self._redactor()
        if redactor.has_secrets and redactor.finds_in(data):
            return encode(self.mask(message))
        return data

    def _make_response_readable(self, message: JsonObject) -> JsonObject:
        """Return a response with readable text; the same object if nothing changed."""
        if "result" not in message:
            return self.make_text_readable(message)
        result = self.make_readable(message["result"])
        return message if result is message["result"] else {**message, "result": result}

    def make_readable(self, result: JsonObject) -> JsonObject:
        """Remove invisible characters from the text of a result; `_meta` contains their number."""
        if _is_plain(result):
            return result
        counter = [0]
        cleaned: JsonObject = _make_readable(result, counter)
        if counter[0]:
            cleaned["_meta"] = {**cleaned.get("_meta", {}), REMOVED_KEY: counter[0]}
        return cleaned

    def make_text_readable(self, message: JsonObject) -> JsonObject:
        """Remove invisible characters from an error or from the params of a message."""
        cleaned: JsonObject = _make_readable(message, [0])
        return cleaned

    def has_secret(self, data: bytes) -> bool:
        """Return whether an encoded message contains a secret."""
        return self._redactor().finds_in(data)

    def mask_result(self, result: ToolResult) -> ToolResult:
        """Return a result whose structured content and texts have no secrets."""
        redactor = self._redactor()
        texts = [block.text for block in result.content if isinstance(block, Text)]
        data = encode_json([result.structured_content, *texts])
        if not (redactor.has_secrets and redactor.finds_in(data)):
            return result
        content = tuple(
            replace(block, text=redactor.mask(block.text)) if isinstance(block, Text) else block
            for block in result.content
        )
        structured = mask_data(result.structured_content, redactor)
        return replace(result, content=content, structured_content=structured)

    def mask(self, message: JsonObject) -> JsonObject:
        """Return a message with masked secrets; values other than text keep their type."""
        masked: JsonObject = _mask(message, self._redactor())
        return masked


def _is_plain(result: JsonObject) -> bool:
    """Return whether a tool result has only printable ASCII text, as most results do."""
    for block in result.get("content", (None,)):
        if type(block) is not dict or block["type"] != "text" or "annotations" in block:
            return False
        text = block["text"]
        if not (text.isascii() and text.isprintable()):
            return False
    return True


def _make_readable(value: Any, counter: list[int]) -> Any:
    """Remove invisible characters; return the same object if there are none."""
    if type(value) is str:
        text, removed = visible(value)
        counter[0] += removed
        return text
    if type(value) is dict:
        changed = {
            name: cleaned
            for name, item in value.items()
            if name not in _FOR_PROGRAMS
            and not (name == "data" and value.get("type") in _BINARY)
            and (cleaned := _make_readable(item, counter)) is not item
        }
        return {**value, **changed} if changed else value
    if type(value) is list:
        items = [_make_readable(item, counter) for item in value]
        is_same = all(new is old for new, old in zip(items, value, strict=True))
        return value if is_same else items
    return value


def _mask(value: Any, redactor: Redactor) -> Any:
    """Mask the secrets of a message, outside of structured content."""
    if isinstance(value, str):
        return redactor.mask(value)
    if isinstance(value, list | tuple):
        return [_mask(item, redactor) for item in value]
    if not isinstance(value, dict):
        return value
    masked: JsonObject = {}
    for name, item in value.items():
        if name == "structuredContent":
            masked[name] = mask_data(item, redactor)
        elif name == "blob" or (name == "data" and value.get("type") in _BINARY):
            masked[name] = _mask_bytes(item, redactor)
        else:
            masked[name] = item if name in _PROTOCOL_MEMBERS else _mask(item, redactor)
    return masked


def _mask_bytes(text: str, redactor: Redactor) -> str:
    try:
        return b64encode(redactor.mask_bytes(b64decode(text, validate=True))).decode()
    except (TypeError, ValueError):  # invalid Base64 from a handler
        return redactor.mask(str(text))


def mask_data(value: Any, redactor: Redactor) -> Any:
    """Mask the secrets of structured content, also in the names of members."""
    if isinstance(value, str):
        return redactor.mask(value)
    if isinstance(value, list | tuple):
        return [mask_data(item, redactor) for item in value]
    if isinstance(value, dict):
        return {redactor.mask_name(name): mask_data(item, redactor) for name, item in value.items()}
    return value
