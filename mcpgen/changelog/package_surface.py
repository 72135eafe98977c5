"""The tool surface of a generated package, and the reader of an earlier `surface.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from mcpgen.ir.surface import SURFACE_FILE, SURFACE_VERSION, Surface, SurfaceTool
from mcpgen.jsonschema.types import JsonObject


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
        raise SurfaceUnreadableError(f"it is not a tool surface: {error}", SURFACE_FILE) from None
    if surface.surface_version > SURFACE_VERSION:
        raise SurfaceUnreadableError("a newer mcpgen wrote it", SURFACE_FILE)
    return surface


def reject_conflict_markers(content: bytes, path: str) -> None:
    """Raise SurfaceUnreadableError if a file contains the conflict markers of a merge."""
    if b"\n<<<<<<< " in content or b"\n>>>>>>> " in content:
        raise SurfaceUnreadableError("it has conflict markers of a merge in it", path)


_SOURCES = re.compile(
    r"(src/[^/]+/_generated)/(contract|listing|merged|workflows|tools/[^/]+)\.json"
)


def is_surface_source(path: str) -> bool:
    """Whether the file at this path of a project states something that clients rely on."""
    return _SOURCES.fullmatch(path) is not None


def derive_surface(files: Mapping[str, bytes]) -> Surface | None:
    """Derive the surface of a project from its files for which `is_surface_source` holds.

    None if they are not of a package, or of one that stores its surface as a file.

    Raises:
        SurfaceUnreadableError: a file is missing, damaged or in a merge conflict.
    """
    listings = [path for path in files if path.endswith("/_generated/listing.json")]
    if len(listings) != 1:
        return None
    folder = listings[0].removesuffix("listing.json")
    try:
        return _read_package(files, folder)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise SurfaceUnreadableError(
            f"it is not what mcpgen writes: {error!r}", folder.rstrip("/")
        ) from None


def _read_package(files: Mapping[str, bytes], folder: str) -> Surface:
    contract = _decode(files, f"{folder}contract.json")
    listed = {tool["name"]: tool for tool in _decode(files, f"{folder}listing.json")}
    groups = [f"tools/{group}.json" for group in contract["groups"]]
    if contract.get("workflows"):
        groups.append("workflows.json")
    if contract.get("merged"):
        groups.append("merged.json")
    aliases: JsonObject = contract.get("aliases", {})
    tools: dict[str, SurfaceTool] = {}
    exposed: dict[str, SurfaceTool] = {}
    for group in groups:
        for name, entry in _decode(files, folder + group)["tools"].items():
            own = tuple(alias for alias, tool in aliases.items() if tool == name)
            if "exposed_as" in entry:
                exposed[name] = _surface_tool(entry, entry["listing"], own)
            else:
                tools[name] = _surface_tool(entry, listed[name], own)
    return Surface(tools, contract["instructions"], exposed=exposed)


def _decode(files: Mapping[str, bytes], path: str) -> Any:
    content = files.get(path)
    if content is None:
        raise SurfaceUnreadableError("it is missing", path)
    reject_conflict_markers(content, path)
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SurfaceUnreadableError(f"it is damaged: {error}", path) from None


def _surface_tool(entry: JsonObject, listed: JsonObject, aliases: tuple[str, ...]) -> SurfaceTool:
    stated = {
        "operation": entry["operation"],
        "title": listed.get("title", ""),
        "description": listed.get("description", ""),
        "input_schema": listed["inputSchema"],
        "annotations": listed.get("annotations", {}),
        "output_schema": listed.get("outputSchema"),
        "checked_schema": entry.get("input_schema"),
        "security": entry.get("request", {}).get("security", ()),
        "aliases": aliases,
        "document_name": entry.get("document_name", ""),
        "output_is_cut": entry.get("output_is_cut", False),
        "flat_body": entry.get("flat_body"),
        "wire_names": entry.get("wire_names", {}) if "flat_body" in entry else {},
        "merges": entry.get("members", {}) if "scope" in entry else {},
    }
    return msgspec.convert(stated, SurfaceTool)
