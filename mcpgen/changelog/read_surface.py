"""A surface, read back from the file that was committed."""

from __future__ import annotations

import msgspec

from mcpgen.ir.surface import SURFACE_VERSION, Surface


class SurfaceUnreadableError(Exception):
    """A file holds no tool surface; says why."""


def read_surface(content: bytes) -> Surface:
    """Read what mcpgen wrote as `.mcpgen/surface.json`.

    Raises:
        SurfaceUnreadableError: it is broken, something else, or from a newer mcpgen.
    """
    if b"\n<<<<<<< " in content or b"\n>>>>>>> " in content:
        raise SurfaceUnreadableError("it has conflict markers of a merge in it")
    try:
        surface = msgspec.json.decode(content, type=Surface)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SurfaceUnreadableError(f"it is no tool surface: {error}") from None
    if surface.surface_version > SURFACE_VERSION:
        raise SurfaceUnreadableError("a newer mcpgen wrote it")
    return surface
