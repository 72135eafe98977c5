"""Example settings for the comments of a new manifest, made from the document's operations."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.jsonschema.types import JsonObject


class FirstSteps(Struct, frozen=True):
    """Example entries that are valid for operations of the document."""

    exclude: str = ""  # the key of an operation
    operations: Mapping[str, JsonObject] = field(default_factory=dict)
    """Entries of `operations` in the manifest's format, by operationId or key."""
    merged: Mapping[str, JsonObject] = field(default_factory=dict)  # proposed entries, by name
    workflows: Mapping[str, JsonObject] = field(default_factory=dict)  # proposed entries, by name
    more_merged: int = 0  # how many others there are
    more_workflows: int = 0
