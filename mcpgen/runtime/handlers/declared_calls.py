"""Provider of the resources and prompts that the manifest declares."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from mcpgen.runtime.content import (
    Audio,
    Completion,
    Content,
    EmbeddedResource,
    Image,
    JsonObject,
    PromptMessage,
    PromptResult,
    ResourceContents,
    ResourceResult,
    Text,
    ToolResult,
)
from mcpgen.runtime.errors import InvalidArgumentsError, ProtocolError, ResourceNotFoundError
from mcpgen.runtime.handlers.annotations import parse_text_value
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcpgen.runtime.tools.results import STATUS_KEY

if TYPE_CHECKING:
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.handlers.declared import Declared
    from mcpgen.runtime.tools.registry import ToolRegistry

_NOT_FOUND: Final = 404
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")


class DeclaredFeatures(Features):
    """Resources and prompts of the manifest, then the features of `handlers/`."""

    def __init__(
        self, declared: Declared, features: Features | None, read: Callable[[str], bytes]
    ) -> None:
        """Serve `declared`, and the rest from `features`; `read` reads a file of the package."""
        super().__init__()
        if features is not None:
            self._include(features)
        self._declared = declared
        self._read = read
        self.registry: ToolRegistry  # set later: the registry reads resources of these features

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context
    ) -> PromptResult:
        """Return the messages of a prompt.

        Raises:
            ProtocolError: no prompt has this name, an argument does not fit, or its operation
                failed.
        """
        entry = self._declared.prompts.get(name)
        if entry is None:
            return await super().get_prompt(name, arguments, context)
        description = entry["listing"].get("description", "")
        if "tool" in entry:
            result = await self._call_with_texts(entry["tool"], arguments, context)
            _raise_failure(result)
            messages = [PromptMessage("user", content) for content in result.content]
        else:
            messages = [
                PromptMessage(message["role"], Text(_fill(message["text"], arguments)))
                for message in entry["messages"]
            ]
        return PromptResult(tuple(messages), description)

    async def read_resource(self, uri: str, context: Context) -> ResourceResult:
        """Return the contents of a resource.

        Raises:
            ResourceNotFoundError: the URI is unknown, or the API returned 404.
            ProtocolError: an argument does not fit, or the operation failed.
        """
        entry, variables = self._declared.find_resource(uri)
        if entry is None:
            return await super().read_resource(uri, context)
        media_type = entry["listing"].get("mimeType", "")
        if "text" in entry:
            return ResourceResult((ResourceContents(uri, media_type, text=entry["text"]),))
        if "file" in entry:
            return ResourceResult((_read_contents(uri, media_type, self._read(entry["file"])),))
        result = await self._call_with_texts(entry["tool"], variables, context)
        if result.is_error and result.meta.get(STATUS_KEY) == _NOT_FOUND:
            raise ResourceNotFoundError(uri)
        _raise_failure(result)
        if result.structured_content is not None:
            media_type = media_type or "application/json"
        return ResourceResult((_convert_contents(uri, media_type, result.content[0]),))

    async def complete(self, params: JsonObject, context: Context) -> Completion:
        """Return the suggestions of `handlers/`, else the declared values with the typed prefix."""
        reference, argument = params["ref"], params["argument"]
        owner = reference.get("name") or reference.get("uri")
        if self.has_completion(owner, argument["name"]):
            return await super().complete(params, context)
        entry = self._declared.prompts.get(owner) or self._declared.templates.get(owner) or {}
        typed = argument["value"].casefold()
        values = entry.get("values", {}).get(argument["name"], ())
        return Completion(tuple(it for it in values if it.casefold().startswith(typed)))

    async def _call_with_texts(
        self, tool: str, texts: Mapping[str, str], context: Context
    ) -> ToolResult:
        """Call a tool with arguments that are texts."""
        properties = self.registry.tools[tool].listed_schema["properties"]
        arguments = {
            name: parse_text_value(text, properties.get(name, {})) for name, text in texts.items()
        }
        try:
            return await self.registry.call(tool, arguments, context, is_listed=False)
        except InvalidArgumentsError as error:
            raise ProtocolError(INVALID_PARAMS, str(error)) from None


def _fill(text: str, arguments: Mapping[str, str]) -> str:
    """Insert arguments into a message; `{{name}}` is an escaped `{name}`."""
    return _PLACEHOLDER.sub(
        lambda found: f"{{{found[1]}}}" if found[1] else arguments.get(found[2], ""), text
    )


def _raise_failure(result: ToolResult) -> None:
    """Raise ProtocolError if a tool failed."""
    if result.is_error:
        message = " ".join(block.text for block in result.content if isinstance(block, Text))
        raise ProtocolError(INTERNAL_ERROR, message)


def _read_contents(uri: str, media_type: str, data: bytes) -> ResourceContents:
    try:
        return ResourceContents(uri, media_type, text=data.decode())
    except UnicodeDecodeError:
        return ResourceContents(uri, media_type, blob=data)


def _convert_contents(uri: str, media_type: str, content: Content) -> ResourceContents:
    match content:
        case Text():
            return ResourceContents(uri, media_type or "text/plain", text=content.text)
        case Image() | Audio():
            return ResourceContents(uri, content.mime_type, blob=content.data)
        case EmbeddedResource():
            mime_type = content.mime_type or media_type
            return ResourceContents(uri, mime_type, text=content.text, blob=content.blob)
        case _:
            raise TypeError(f"{type(content).__name__} is no content of a resource")
