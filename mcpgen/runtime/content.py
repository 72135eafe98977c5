"""What a tool gives back: content blocks and a result, before any revision shapes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Annotations:
    """For whom content is meant and how much it matters (MCP `Annotations`)."""

    audience: tuple[str, ...] = ()  # "user", "assistant"
    priority: float | None = None  # 0 to 1
    last_modified: str = ""  # ISO 8601


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    annotations: Annotations | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, as bytes; base64 happens on the wire."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound, as bytes."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """A resource with its contents: `text`, or `blob` when it is bytes."""

    uri: str
    mime_type: str = ""
    text: str | None = None
    blob: bytes | None = None
    annotations: Annotations | None = None


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A resource to be read by its URI."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Annotations | None = None


Content: TypeAlias = Text | Image | Audio | EmbeddedResource | ResourceLink


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer of a tool. `structured_content` is an object, as every revision can carry it."""

    content: tuple[Content, ...]
    structured_content: JsonObject | None = None
    is_error: bool = False
    meta: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt; `role` is "user" or "assistant"."""

    role: str
    content: Content


@dataclass(frozen=True, slots=True)
class PromptResult:
    """The answer to `prompts/get`."""

    messages: tuple[PromptMessage, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class ResourceContents:
    """What a resource holds: `text`, or `blob` when it is bytes."""

    uri: str
    mime_type: str = ""
    text: str | None = None
    blob: bytes | None = None


@dataclass(frozen=True, slots=True)
class ResourceResult:
    """The answer to `resources/read`: one or more contents, never none."""

    contents: tuple[ResourceContents, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggestions for an argument, best first; the wire takes the first 100 of them.

    `total` is how many there are in all, where that is more than are given here.
    """

    values: tuple[str, ...]
    total: int | None = None
