"""The work of making models, divided so that two processes can do it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mcpgen.jsonschema.references import find_components, find_referred_names
from mcpgen.jsonschema.types import JsonObject

_PROPERTIES_WORTH_A_SECOND_PROCESS = 1500


class Shard(Struct, frozen=True):
    """Definitions to be made, and for what they refer to elsewhere, stand-ins of the same name."""

    shapes: Mapping[str, JsonObject]
    stand_ins: Mapping[str, JsonObject]

    @property
    def definitions(self) -> dict[str, JsonObject]:
        """All that the child process is told."""
        return {**self.stand_ins, **self.shapes}


def divide(shapes: Mapping[str, JsonObject]) -> list[Shard]:
    """Divide the work in at most two, by size alone, so that every machine divides it alike.

    Definitions that refer to each other in a circle stay together.
    """
    sizes = {name: 1 + len(shape.get("properties", ())) for name, shape in shapes.items()}
    if not shapes:
        return []
    half = sum(sizes.values()) // 2
    if half < _PROPERTIES_WORTH_A_SECOND_PROCESS:
        return [Shard(shapes, {})]
    first: dict[str, JsonObject] = {}
    taken = 0
    for names in find_components(
        {name: find_referred_names(shape) for name, shape in shapes.items()}
    ):
        if taken < half:
            first |= {name: shapes[name] for name in names}
            taken += sum(sizes[name] for name in names)
    second = {name: shape for name, shape in shapes.items() if name not in first}
    return [_with_stand_ins(part) for part in (first, second) if part]


def _with_stand_ins(part: Mapping[str, JsonObject]) -> Shard:
    referred = {name for shape in part.values() for name in find_referred_names(shape)} - set(part)
    stand_in: JsonObject = {"type": "object", "properties": {"stand_in": {"type": "string"}}}
    return Shard(part, dict.fromkeys(sorted(referred), stand_in))
