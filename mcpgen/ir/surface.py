"""The tool surface of a server: the properties of its tools that clients rely on."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.contract.flat_bodies import FlatBody
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
    checked_schema: JsonObject | None = None
    """Validates the handler's arguments, if it is stricter than the listed one."""
    security: tuple[Mapping[str, tuple[str, ...]], ...] = ()  # alternatives: scheme -> scopes
    aliases: tuple[str, ...] = ()  # unlisted names by which it can be called
    document_name: str = ""  # its name by the current document, if the published name differs
    merges: Mapping[str, str] = field(default_factory=dict)
    """For a merged tool: names of its tools in `Surface.exposed`, by the selecting value."""
    output_is_cut: bool = False  # whether `output_schema` leaves out deeper parts of the response
    flat_body: FlatBody | None = None  # if members of the body are arguments
    wire_names: Mapping[str, str] = field(default_factory=dict)
    """API names of these members, as in `ToolPlan`."""

    @property
    def members(self) -> Mapping[str, str]:
        """Arguments that are members of the body, by their API names."""
        if self.flat_body is None:
            return {}
        names = self.flat_body.names.items()
        return {self.wire_names.get(member, member): name for member, name in names}


class Surface(Struct, frozen=True):
    """All generated tools of a server, by name, and the server's instructions."""

    tools: Mapping[str, SurfaceTool]
    instructions: str = ""
    surface_version: int = SURFACE_VERSION
    exposed: Mapping[str, SurfaceTool] = field(default_factory=dict)
    """Operations with a handler that serve a resource, a template, a prompt or a merged tool."""

    @property
    def handled(self) -> Mapping[str, SurfaceTool]:
        """Everything with a generated handler, by name; `handlers/` can override it."""
        return {**self.tools, **self.exposed}
