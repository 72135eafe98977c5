"""What a first manifest shows, in comments, of the changes that most users make first."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.ir.json_types import JsonObject


class FirstSteps(Struct, frozen=True):
    """Valid entries for operations of the document."""

    exclude: str = ""  # the key of an operation to leave out
    operations: Mapping[str, JsonObject] = field(default_factory=dict)
    """Entries of `operations`, by operationId or key; settings as the manifest states them."""
