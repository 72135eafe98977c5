"""Pins: hashes of reviewed definitions, and what changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from mcpgen.factory.lint.findings import Finding, flag
from mcpgen.factory.lint.listing import Listing
from mcpgen.ir.client_checks import read_text

PINS_FILE: Final = "pins.json"
_VERSION: Final = 1
_INSTRUCTIONS: Final = "instructions"
_encode = msgspec.json.Encoder(order="sorted").encode


class PinsUnreadableError(Exception):
    """The file with the hashes of pinned tools cannot be read; the message states the reason."""

    help = "delete the file, and pin anew with --pin"


class ServerPins(Struct, frozen=True, forbid_unknown_fields=True):
    """The hashes of one server's definitions (SHA-256)."""

    tools: Mapping[str, str]
    instructions: str = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    servers: Mapping[str, ServerPins]


def hash_definitions(listing: Listing) -> ServerPins:
    """Return the hashes of what a server shows now, order of keys aside."""
    tools = {read_text(tool, "name"): _digest(tool) for tool in listing.all_tools}
    return ServerPins(tools, _digest(listing.instructions) if listing.instructions else "")


def _digest(value: Any) -> str:
    return hashlib.sha256(_encode(value)).hexdigest()


def read_pins(path: Path) -> Mapping[str, ServerPins]:
    """Return the pins of each server in a file; {} if the file does not exist.

    Raises:
        PinsUnreadableError: it contains something else.
        OSError: it cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        found = msgspec.json.decode(content, type=_File)
    except msgspec.MsgspecError as error:
        raise PinsUnreadableError(f"{path} contains no pins: {error}") from None
    if found.version != _VERSION:
        raise PinsUnreadableError(f"{path} has version {found.version}, expected {_VERSION}")
    return found.servers


def write_pins(path: Path, known: Mapping[str, ServerPins], listing: Listing) -> None:
    """Add the pins of a server to a file, which can have those of others.

    Raises:
        OSError: the file cannot be written.
    """
    servers = {**known, listing.server: hash_definitions(listing)}
    shown = {
        name: {_INSTRUCTIONS: pins.instructions, "tools": dict(pins.tools)}
        for name, pins in servers.items()
    }
    text = json.dumps({"version": _VERSION, "servers": shown}, indent=2, sort_keys=True) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="\n")


def check_pins(listing: Listing, pins: ServerPins) -> Iterator[Finding]:
    """Report definitions that are not as they were pinned."""
    now = hash_definitions(listing)
    for name, digest in now.tools.items():
        if name not in pins.tools:
            yield flag("definition-added", f"`{name}` is not pinned", tool=name, detail="new")
        elif pins.tools[name] != digest:
            message = f"the definition of `{name}` has changed since it was pinned"
            yield flag("definition-changed", message, tool=name, detail="changed")
    if not listing.has_unknown_tools:
        for name in sorted(pins.tools.keys() - now.tools.keys()):
            yield flag("definition-removed", f"the pinned tool `{name}` is missing", detail=name)
    if pins.instructions != now.instructions:
        message = "the instructions have changed since they were pinned"
        yield flag("definition-changed", message, detail="instructions")


def list_foreign_tools(
    pins: Mapping[str, ServerPins], listing: Listing
) -> dict[str, Collection[str]]:
    """Return the pinned tools of the other servers, by server."""
    return {name: each.tools.keys() for name, each in pins.items() if name != listing.server}
