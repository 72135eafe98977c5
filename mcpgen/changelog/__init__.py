"""What a change of the tool surface means to its clients: rules, graded. No disk, no network."""

from mcpgen.changelog.compare import RULES, Change, Changelog, Level, compare, next_version
from mcpgen.changelog.package_surface import (
    SurfaceUnreadableError,
    derive_surface,
    is_surface_source,
    read_surface,
)

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
