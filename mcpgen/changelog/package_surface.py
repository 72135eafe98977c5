"""A tool surface, derived from the files of a generated package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from mcpgen.changelog.read_surface import SurfaceUnreadableError, reject_conflict_markers
from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.jsonschema.types import JsonObject

_SOURCES = re.compile(r"(src/[^/]+/_generated)/(contract|listing|workflows|tools/[^/]+)\.json")


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
    reader = _Reader(listings[0].removesuffix("listing.json"), files)
    return reader.surface()


class _Reader:
    def __init__(self, folder: str, files: Mapping[str, bytes]) -> None:
        self._folder = folder
        self._files = files

    def surface(self) -> Surface:
        try:
            return self._surface()
        except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
            raise SurfaceUnreadableError(
                f"it is not what mcpgen writes: {error!r}", self._folder.rstrip("/")
            ) from None

    def _surface(self) -> Surface:
        contract = self._decode("contract.json")
        listed = {tool["name"]: tool for tool in self._decode("listing.json")}
        groups = [f"tools/{group}.json" for group in contract["groups"]]
        if contract.get("workflows"):
            groups.append("workflows.json")
        aliases: JsonObject = contract.get("aliases", {})
        tools: dict[str, SurfaceTool] = {}
        exposed: dict[str, SurfaceTool] = {}
        for group in groups:
            for name, entry in self._decode(group)["tools"].items():
                own = tuple(alias for alias, tool in aliases.items() if tool == name)
                if "exposed_as" in entry:
                    exposed[name] = _surface_tool(entry, entry["listing"], own)
                else:
                    tools[name] = _surface_tool(entry, listed[name], own)
        return Surface(tools, contract["instructions"], exposed=exposed)

    def _decode(self, name: str) -> Any:
        path = self._folder + name
        content = self._files.get(path)
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
    }
    return msgspec.convert(stated, SurfaceTool)
