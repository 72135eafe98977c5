"""Comparison of two tool surfaces: each change gets the level of its rule. Without I/O."""

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
