"""The tool surface of a server: the properties of its tools that clients rely on."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.jsonschema.types import JsonObject

SURFACE_FILE = ".mcpgen/surface.json"  # in which earlier versions of mcpgen stored the surface
SURFACE_VERSION = 1


class SurfaceTool(Struct, frozen=True, omit_defaults=True):
    """One tool, as its clients see it."""

    operation: str  # "GET /pets/{petId}"
    title: str
    description: str
    input_schema: JsonObject  # as listed
    annotations: JsonObject = field(default_factory=dict)
    output_schema: JsonObject | None = None
    checked_schema: JsonObject | None = None  # validates arguments, if stricter than the listed one
    security: tuple[Mapping[str, tuple[str, ...]], ...] = ()  # alternatives: scheme -> scopes
    aliases: tuple[str, ...] = ()  # unlisted names by which it can be called
    document_name: str = ""  # its name by the current document, if the published name differs


class Surface(Struct, frozen=True):
    """All generated tools of a server, by name, and the server's instructions."""

    tools: Mapping[str, SurfaceTool]
    instructions: str = ""
    surface_version: int = SURFACE_VERSION
    exposed: Mapping[str, SurfaceTool] = field(default_factory=dict)
    """Operations with a handler that are served as a resource, a template or a prompt."""

    @property
    def handled(self) -> Mapping[str, SurfaceTool]:
        """Everything with a generated handler, by name; `handlers/` can override these."""
        return {**self.tools, **self.exposed}
