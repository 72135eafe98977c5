"""Answers what clients ask of resources and prompts that the manifest declares."""

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
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcpgen.runtime.protocol.uri_template import UriTemplate
from mcpgen.runtime.results import STATUS_KEY
from mcpgen.runtime.text_values import value_of_text

if TYPE_CHECKING:
    from mcpgen.runtime.context import Context
    from mcpgen.runtime.declared import Declared
    from mcpgen.runtime.features import Features
    from mcpgen.runtime.tools import Toolbox

_NOT_FOUND: Final = 404
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")


class DeclaredFeatures:
    """What a server offers beyond its tools: of the manifest, and else of `handlers/`."""

    def __init__(
        self, declared: Declared, features: Features | None, read: Callable[[str], bytes]
    ) -> None:
        """Answer for `declared`, and let `features` answer the rest; `read` is of the package."""
        self._declared = declared
        self._features = features
        self._read = read
        self.toolbox: Toolbox  # set once it is there; it reads resources in its turn

    def has_tool(self, name: str) -> bool:
        """Tell whether `handlers/` has this tool."""
        return self._features is not None and self._features.has_tool(name)

    async def call_tool(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Call a tool of `handlers/`; as `Features.call_tool`."""
        assert self._features is not None  # noqa: S101  (`has_tool` said so)
        return await self._features.call_tool(name, arguments, context)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context
    ) -> PromptResult:
        """Give the messages of a prompt.

        Raises:
            ProtocolError: no prompt has this name, an argument does not fit, or its operation
                failed.
        """
        entry = self._declared.prompts.get(name)
        if entry is None:
            if self._features is None:
                raise ProtocolError(INVALID_PARAMS, f"no prompt is named {name[:100]!r}")
            return await self._features.get_prompt(name, arguments, context)
        description = entry["listing"].get("description", "")
        if "tool" in entry:
            result = await self._result(entry["tool"], arguments, context)
            _check(result)
            messages = [PromptMessage("user", content) for content in result.content]
        else:
            messages = [
                PromptMessage(message["role"], Text(_filled(message["text"], arguments)))
                for message in entry["messages"]
            ]
        return PromptResult(tuple(messages), description)

    async def read_resource(self, uri: str, context: Context) -> ResourceResult:
        """Give the contents of a resource.

        Raises:
            ResourceNotFoundError: nothing has this URI, or the API knows of nothing there.
            ProtocolError: an argument does not fit, or the operation failed.
        """
        entry, variables = self._find(uri)
        if entry is None:
            if self._features is None:
                raise ResourceNotFoundError(uri)
            return await self._features.read_resource(uri, context)
        media_type = entry["listing"].get("mimeType", "")
        if "text" in entry:
            return ResourceResult((ResourceContents(uri, media_type, text=entry["text"]),))
        if "file" in entry:
            return ResourceResult((_of_file(uri, media_type, self._read(entry["file"])),))
        result = await self._result(entry["tool"], variables, context)
        if result.is_error and result.meta.get(STATUS_KEY) == _NOT_FOUND:
            raise ResourceNotFoundError(uri)
        _check(result)
        if result.structured_content is not None:
            media_type = media_type or "application/json"
        return ResourceResult((_of_content(uri, media_type, result.content[0]),))

    def _find(self, uri: str) -> tuple[JsonObject | None, dict[str, str]]:
        if uri in self._declared.resources:
            return self._declared.resources[uri], {}
        for template, entry in self._declared.templates.items():
            variables = UriTemplate(template).match(uri)
            if variables is not None:
                return entry, variables
        return None, {}

    async def complete(self, params: JsonObject, context: Context) -> Completion:
        """Suggest what a function of `handlers/` does, else the values that begin as was typed."""
        reference, argument = params["ref"], params["argument"]
        owner = reference.get("name") or reference.get("uri")
        if self._features is not None and self._features.has_completion(owner, argument["name"]):
            return await self._features.complete(params, context)
        entry = self._declared.prompts.get(owner) or self._declared.templates.get(owner) or {}
        typed = argument["value"].casefold()
        values = entry.get("values", {}).get(argument["name"], ())
        return Completion(tuple(it for it in values if it.casefold().startswith(typed)))

    async def _result(self, tool: str, texts: Mapping[str, str], context: Context) -> ToolResult:
        """What a tool gives for arguments that came as texts."""
        schema = self.toolbox.tools[tool].input_schema
        properties = schema["properties"]
        arguments = {
            name: value_of_text(text, properties.get(name, {})) for name, text in texts.items()
        }
        try:
            return await self.toolbox.call(tool, arguments, context, is_listed=False)
        except InvalidArgumentsError as error:
            raise ProtocolError(INVALID_PARAMS, str(error)) from None


def _filled(text: str, arguments: Mapping[str, str]) -> str:
    """A message with its arguments; `{{name}}` stands for the braces themselves."""
    return _PLACEHOLDER.sub(
        lambda found: f"{{{found[1]}}}" if found[1] else arguments.get(found[2], ""), text
    )


def _check(result: ToolResult) -> None:
    """Raise ProtocolError where a tool failed."""
    if result.is_error:
        said = " ".join(block.text for block in result.content if isinstance(block, Text))
        raise ProtocolError(INTERNAL_ERROR, said)


def _of_file(uri: str, media_type: str, data: bytes) -> ResourceContents:
    try:
        return ResourceContents(uri, media_type, text=data.decode())
    except UnicodeDecodeError:
        return ResourceContents(uri, media_type, blob=data)


def _of_content(uri: str, media_type: str, content: Content) -> ResourceContents:
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
