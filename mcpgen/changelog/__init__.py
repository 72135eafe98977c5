"""What a change of the tool surface means to its clients: rules, graded. No disk, no network."""

from mcpgen.changelog.compare import Change, Changelog, compare
from mcpgen.changelog.package_surface import derive_surface, is_surface_source
from mcpgen.changelog.read_surface import SurfaceUnreadableError, read_surface
from mcpgen.changelog.rules import RULES, Level
from mcpgen.changelog.versions import next_version

__all__ = [
    "RULES",
    "Change",
    "Changelog",
    "Level",
    "SurfaceUnreadableError",
    "compare",
    "derive_surface",
    "is_surface_source",
    "next_version",
    "read_surface",
]
