"""The listing of a server: from the files of a project, from a JSON file, or from the server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.ir.client_checks import read_text
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.pipeline.project.overrides import read_project_handlers

_NAME_LINE: Final = re.compile(rb'\s*"name":\s*"([^"\\]+)"')


class ListingUnreadableError(Exception):
    """A file that contains no tools; the message states why."""


def load_package(package: GeneratedPackage) -> Listing:
    """Read the definitions of a generated project from its files, without starting its server."""
    generated = package.directory / "src" / package.name / "_generated"
    everything = package.read_tools()
    found = _read_objects(generated / "search_listing.json")
    listed = everything if found is None else found
    names = {read_text(tool, "name") for tool in listed}
    entries = {
        kind: [_as_object(entry.get("listing")) for entry in _read_objects(path) or ()]
        for kind in ("prompts", "resources")
        if (path := generated / f"{kind}.json")
    }
    instructions = package.contract.get("instructions", "")
    return Listing(
        server=str(package.contract.get("name", package.name)),
        tools=tuple(listed),
        unlisted=tuple(tool for tool in everything if read_text(tool, "name") not in names),
        instructions=instructions if isinstance(instructions, str) else "",
        prompts=entries["prompts"],
        resources=entries["resources"],
        has_search=found is not None,
        places=_locate_tools(package.directory, generated / "listing.json"),
        has_unknown_tools=_has_hand_written_tools(package.directory),
    )


def add_unlisted(started: Listing, files: Listing) -> Listing:
    """Return what the running server of a project lists, with what only its files know.

    That are the tools behind search tools, and the places of tools.
    """
    names = {read_text(tool, "name") for tool in started.tools}
    behind = files.all_tools if files.has_search else ()
    return replace(
        started,
        server=files.server,
        unlisted=tuple(tool for tool in behind if read_text(tool, "name") not in names),
        has_search=files.has_search,
        places=files.places,
    )


def _read_objects(path: Path) -> list[JsonObject] | None:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _as_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _locate_tools(directory: Path, path: Path) -> dict[str, Location]:
    """Find the first line of each tool; mcpgen writes an entry of the list at a line's start."""
    if not path.is_file():
        return {}
    shown, start, number = path.relative_to(directory).as_posix(), 0, -1
    places: dict[str, Location] = {}
    for line, text in enumerate(path.read_bytes().splitlines(), 1):
        if text.startswith(b"{"):
            start, number = line, number + 1
        is_member = not text.startswith(b"\t\t")
        if is_member and (found := _NAME_LINE.match(text.removeprefix(b"{"))):
            places.setdefault(found[1].decode(), Location(shown, start, 1, f"/{number}"))
    return places


def _has_hand_written_tools(directory: Path) -> bool:
    """Check whether modules of `handlers/` add tools of their own."""
    if read_project_handlers(directory, Problems()).tools:
        return True
    return any(
        b"Features" in path.read_bytes()
        for path in directory.glob("src/*/handlers/*.py")
        if path.is_file()
    )


def load_file(path: Path) -> Listing:
    """Read a JSON file with a list of tools, the result of `tools/list`, or its response.

    Raises:
        ListingUnreadableError: it contains something else.
        OSError: it cannot be read.
    """
    try:
        found: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ListingUnreadableError(f"{path} is not JSON: {error}") from None
    if isinstance(found, dict) and isinstance(found.get("result"), dict):
        found = found["result"]
    parts: Mapping[str, Any] = found if isinstance(found, dict) else {"tools": found}
    tools = parts.get("tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise ListingUnreadableError(f"{path} contains no `tools` as in a result of `tools/list`")
    server = parts.get("serverInfo")
    return make_listing(
        server if isinstance(server, dict) else {"name": path.stem},
        tools,
        instructions=parts.get("instructions"),
        prompts=parts.get("prompts"),
        resources=parts.get("resources"),
    )


def make_listing(
    server: JsonObject,
    tools: Sequence[JsonValue],
    *,
    instructions: JsonValue = "",
    prompts: JsonValue = (),
    resources: JsonValue = (),
) -> Listing:
    """Return a listing of decoded JSON; values that are not objects are omitted."""
    return Listing(
        server=_make_key(read_text(server, "name")),
        tools=_select_objects(tools),
        instructions=instructions if isinstance(instructions, str) else "",
        prompts=_select_objects(prompts),
        resources=_select_objects(resources),
    )


def _select_objects(values: JsonValue) -> tuple[JsonObject, ...]:
    found = values if isinstance(values, list | tuple) else ()
    return tuple(each for each in found if isinstance(each, dict))


def _make_key(name: str) -> str:
    """Return the name that a user would choose for a server: the last part, in plain characters."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower().rpartition("/")[2]).strip("-") or "server"
