"""Reader of `surface.json`, in which earlier versions of mcpgen stored a tool surface."""

from __future__ import annotations

import msgspec

from mcpgen.ir.surface import SURFACE_FILE, SURFACE_VERSION, Surface


class SurfaceUnreadableError(Exception):
    """A tool surface cannot be read; states why. `path` is the file of the project at fault."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.path = path


def read_surface(content: bytes) -> Surface:
    """Read a surface that an earlier version stored as `.mcpgen/surface.json`.

    Raises:
        SurfaceUnreadableError: it is broken, something else, or from a newer mcpgen.
    """
    reject_conflict_markers(content, SURFACE_FILE)
    try:
        surface = msgspec.json.decode(content, type=Surface)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SurfaceUnreadableError(f"it is no tool surface: {error}", SURFACE_FILE) from None
    if surface.surface_version > SURFACE_VERSION:
        raise SurfaceUnreadableError("a newer mcpgen wrote it", SURFACE_FILE)
    return surface


def reject_conflict_markers(content: bytes, path: str) -> None:
    """Raise SurfaceUnreadableError if a file contains the conflict markers of a merge."""
    if b"\n<<<<<<< " in content or b"\n>>>>>>> " in content:
        raise SurfaceUnreadableError("it has conflict markers of a merge in it", path)
