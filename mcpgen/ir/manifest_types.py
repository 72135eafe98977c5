"""Common types of the manifest: the base class of its mappings, names, URLs and durations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct


def key(description: str, *examples: Any) -> Meta:
    """Return the description of a key for editors. Each example is a value of the key."""
    return Meta(description=description, examples=list(examples))


Tokens: TypeAlias = tuple[str, ...]
"""Keys and list indexes that lead to a value of the manifest."""
JsonSchema: TypeAlias = dict[str, Any] | bool
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
ToolName: TypeAlias = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,63}$")]
McpRevision: TypeAlias = Literal[
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=3600)]
PageCount: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]

EnvironmentName: TypeAlias = Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]{0,99}$")]
HeaderName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
OptionalHeaderName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]*$")]
HeaderText: TypeAlias = Annotated[str, Meta(pattern="^([!-~]([ -~]*[!-~])?)?$")]
SourceName: TypeAlias = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]
ArgumentName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Origin: TypeAlias = Annotated[str, Meta(pattern=r"^https?://[^\s/?#@]+/?$")]
HttpUrl: TypeAlias = Annotated[str, Meta(pattern="^https?://")]


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping of the manifest."""
