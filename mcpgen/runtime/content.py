"""Results of tools, prompts and resources: content blocks, independent of protocol revisions.

msgspec structs are created ten times as fast as frozen dataclasses.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, field

JsonObject: TypeAlias = dict[str, Any]


class Annotations(Struct, frozen=True):
    """Audience and priority of content (MCP `Annotations`)."""

    audience: tuple[str, ...] = ()  # "user", "assistant"
    priority: float | None = None  # 0 to 1
    last_modified: str = ""  # ISO 8601


class Text(Struct, frozen=True):
    """Plain text."""

    text: str
    annotations: Annotations | None = None


class Image(Struct, frozen=True):
    """An image, as bytes without base64."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


class Audio(Struct, frozen=True):
    """Audio, as bytes without base64."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


class EmbeddedResource(Struct, frozen=True):
    """A resource with its contents: `text`, or `blob` when it is bytes."""

    uri: str
    mime_type: str = ""
    text: str | None = None
    blob: bytes | None = None
    annotations: Annotations | None = None


class ResourceLink(Struct, frozen=True):
    """A resource to be read by its URI."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Annotations | None = None


Content: TypeAlias = Text | Image | Audio | EmbeddedResource | ResourceLink


class ToolUse(Struct, frozen=True):
    """A tool call that the client's model requests in its answer (`ctx.sample`)."""

    id: str
    name: str
    input: JsonObject
    meta: JsonObject = field(default_factory=dict)  # returned unchanged with its result


class ToolUseResult(Struct, frozen=True):
    """The result of a tool that the client's model called; `tool_use_id` is `ToolUse.id`."""

    tool_use_id: str
    content: tuple[Content, ...]
    structured_content: JsonObject | None = None
    is_error: bool = False


SamplingContent: TypeAlias = Content | ToolUse | ToolUseResult
ModelMessage: TypeAlias = tuple[str, SamplingContent | tuple[SamplingContent, ...]]
"""A message to or from the client's model: the role "user" or "assistant", and the content."""


class ToolResult(Struct, frozen=True):
    """The result of a tool; `structured_content` is an object, which every revision supports."""

    content: tuple[Content, ...]
    structured_content: JsonObject | None = None
    is_error: bool = False
    meta: JsonObject = field(default_factory=dict)


class PromptMessage(Struct, frozen=True):
    """One message of a prompt; `role` is "user" or "assistant"."""

    role: str
    content: Content


class PromptResult(Struct, frozen=True):
    """The result of `prompts/get`."""

    messages: tuple[PromptMessage, ...]
    description: str = ""


class ResourceContents(Struct, frozen=True):
    """The contents of a resource: `text`, or `blob` for bytes."""

    uri: str
    mime_type: str = ""
    text: str | None = None
    blob: bytes | None = None


class ResourceResult(Struct, frozen=True):
    """The result of `resources/read`: one or more contents."""

    contents: tuple[ResourceContents, ...]


class Completion(Struct, frozen=True):
    """Suggestions for an argument, best first; the first 100 are sent.

    `total` is the number of all suggestions, if `values` does not contain all of them.
    """

    values: tuple[str, ...]
    total: int | None = None
