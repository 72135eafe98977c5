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
