"""The tool surface: what the clients of a server rely on, apart from how it is served."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.ir.json_types import JsonObject

SURFACE_VERSION = 1


class SurfaceTool(Struct, frozen=True):
    """One tool, as its clients see it."""

    operation: str  # "GET /pets/{petId}"
    title: str
    description: str
    input_schema: JsonObject  # as listed
    annotations: JsonObject = field(default_factory=dict)
    output_schema: JsonObject | None = None
    checked_schema: JsonObject | None = None  # what arguments must fit, where that says more
    security: tuple[Mapping[str, tuple[str, ...]], ...] = ()  # alternatives: scheme -> scopes
    aliases: tuple[str, ...] = ()  # names that it answers to without being listed under them
    document_name: str = ""  # what the document calls it now, where its issued name is another


class Surface(Struct, frozen=True):
    """All generated tools of a server, by name, and what the server says of itself."""

    tools: Mapping[str, SurfaceTool]
    instructions: str = ""
    surface_version: int = SURFACE_VERSION
    exposed: Mapping[str, SurfaceTool] = field(default_factory=dict)
    """What is served as a resource, a template or a prompt, by a handler as a tool has it."""

    @property
    def handled(self) -> Mapping[str, SurfaceTool]:
        """All that has a handler, by name: what `handlers/` can override."""
        return {**self.tools, **self.exposed}
