"""Diagnosis of an installed server that a client does not see: file, command, start and tools."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Severity
from mcpgen.factory.clients.install import Listed
from mcpgen.factory.clients.registry import InstallClient
from mcpgen.factory.lint.connect import NoListingError, fetch_listing
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.matrix import build_matrix
from mcpgen.factory.wire.connection import (
    ConnectionLostError,
    UnauthorizedError,
    UnreachableError,
)
from mcpgen.factory.wire.targets import Target
from mcpgen.ir.clients import read_clients
from mcpgen.jsonschema.types import JsonObject

_REFERENCE: Final = re.compile(r"\$\{(?:env:)?(\w+)(?::-[^}]*)?\}|\{env:(\w+)\}|\$(\w+)")
_DESKTOP_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_MAX_SHOWN: Final = 5
_SEVERITIES: Final = {
    "degraded": Severity.WARNING,
    "dropped": Severity.ERROR,
    "breaks": Severity.ERROR,
}


class Symptom(Struct, frozen=True):
    """One reason why a client does not see a server, or not all of its tools."""

    rule: str
    severity: Severity
    message: str
    why: str = ""
    help: str = ""


class Diagnosis(Struct, frozen=True):
    """Findings about one server of one client."""

    listed: Listed
    symptoms: tuple[Symptom, ...]
    tools: int | None  # that the server listed; None if it was not started or did not answer

    @property
    def is_healthy(self) -> bool:
        """Whether the client can use the server, perhaps with a loss."""
        return not any(it.severity is Severity.ERROR for it in self.symptoms)


async def diagnose(listed: Listed) -> Diagnosis:
    """Start or contact a server as its client would, and list its tools."""
    target, found = _make_target(listed.client, listed.entry)
    if listed.entry.get("disabled") is True or listed.entry.get("enabled") is False:
        found.append(_error("disabled", "the server is disabled in the file", "enable it there"))
    if any(it.severity is Severity.ERROR for it in found):
        return Diagnosis(listed, tuple(found), None)
    try:
        listing = await fetch_listing(target)
    except UnauthorizedError:
        found.append(
            _error("unauthorized", "the server requires credentials", "sign in from the client")
        )
    except (NoListingError, UnreachableError, ConnectionLostError) as error:
        found.append(
            _error(
                "unreachable", f"the server did not start: {error}", f"run `{target}` to see why"
            )
        )
    else:
        found += _check_limits(listed, listing)
        return Diagnosis(listed, tuple(found), len(listing.tools))
    return Diagnosis(listed, tuple(found), None)


def _error(rule: str, message: str, help: str = "", why: str = "") -> Symptom:
    return Symptom(rule, Severity.ERROR, message, why, help)


def _make_target(client: InstallClient, entry: JsonObject) -> tuple[Target, list[Symptom]]:
    """Return the target of an entry with its references replaced, and what is missing."""
    found: list[Symptom] = []
    url = next((str(entry[key]) for key in _values(client.http, "$url") if key in entry), "")
    environment = _resolve(_get(entry, client.stdio, "$env"), found)
    for name in _get_names(entry, client.forwards):
        _require(name, found)
        environment.setdefault(name, os.environ.get(name, ""))
    if url:
        headers = _resolve(_get(entry, client.http or {}, "$headers"), found)
        return Target(url=url, headers=headers), found
    command = _read_command(client, entry)
    program = command[0] if command else ""
    if not program:
        found.append(_error("no-command", "the entry has neither a command nor a URL"))
    elif not (shutil.which(program) or Path(program).is_file()):
        found.append(
            _error(
                "command-not-found",
                f"`{program}` does not exist",
                "install it, or add the server again",
            )
        )
    elif not _is_on_desktop_path(program):
        found.append(
            Symptom(
                "command-path",
                Severity.WARNING,
                f"`{program}` is not in the PATH of desktop applications",
                "a client that was not started from a shell does not find it",
                f"use the full path `{shutil.which(program)}`",
            )
        )
    return Target(command=tuple(command), environment=environment), found


def _is_on_desktop_path(program: str) -> bool:
    """Whether an application that was not started from a shell finds a program."""
    if sys.platform == "win32" or Path(program).is_absolute():
        return True
    return shutil.which(program, path=_DESKTOP_PATH) is not None


def _values(template: JsonObject | None, placeholder: str) -> list[str]:
    return [key for key, value in (template or {}).items() if value == placeholder]


def _get(entry: JsonObject, template: JsonObject, placeholder: str) -> Mapping[str, object]:
    for key in _values(template, placeholder):
        value = entry.get(key)
        if isinstance(value, dict):
            return value
    return {}


def _get_names(entry: JsonObject, key: str) -> list[str]:
    value = entry.get(key) if key else None
    return [str(each) for each in value] if isinstance(value, list) else []


def _read_command(client: InstallClient, entry: JsonObject) -> list[str]:
    for key in _values(client.stdio, "$command_line"):
        value = entry.get(key)
        return [str(word) for word in value] if isinstance(value, list) else []
    key = next(iter(_values(client.stdio, "$command")), "command")
    args = entry.get("args")
    words = [entry.get(key) or "", *(args if isinstance(args, list) else ())]
    return [str(word) for word in words] if words[0] else []


def _resolve(values: Mapping[str, object], found: list[Symptom]) -> dict[str, str]:
    """Replace references to the environment; what a client asks its user for stays empty."""

    def replace_reference(match: re.Match[str]) -> str:
        name = next(group for group in match.groups() if group)
        if ":-" not in match[0]:
            _require(name, found)
        return os.environ.get(name, "")

    resolved = {}
    for name, value in values.items():
        if isinstance(value, str) and ("${input:" in value or "${{" in value):
            resolved[name] = os.environ.get(name, "")
        else:
            resolved[name] = _REFERENCE.sub(replace_reference, str(value))
    return resolved


def _require(name: str, found: list[Symptom]) -> None:
    if name not in os.environ:
        found.append(
            Symptom(
                "variable-not-set",
                Severity.WARNING,
                f"the environment variable `{name}` is not set here",
                "the client passes its own environment on; it may be unset there as well",
                f"set `{name}` where the client is started",
            )
        )


def _check_limits(listed: Listed, listing: Listing) -> Iterator[Symptom]:
    """Yield what the client makes of the tools, by the limits of `mcpgen lint`."""
    known = read_clients().get(listed.client.id)
    if not listing.tools:
        yield Symptom("no-tools", Severity.WARNING, "the server lists no tools")
    if known is None:
        return
    named = replace(listing, server=listed.name)
    matrix = build_matrix(named, {known.id: known})
    grouped: dict[tuple[str, str], list[str]] = {}
    for tool in matrix.tools:
        for excess in matrix.cell(tool, known.id).excesses:
            key = (excess.limit.effect, excess.limit.rule)
            grouped.setdefault(key, []).append(excess.message)
    for (effect, rule), messages in grouped.items():
        shown = "; ".join(messages[:_MAX_SHOWN])
        more = f" (and {len(messages) - _MAX_SHOWN} more)" if len(messages) > _MAX_SHOWN else ""
        words = {
            "degraded": "loses something",
            "dropped": "drops tools",
            "breaks": "rejects all tools",
        }
        yield Symptom(
            rule,
            _SEVERITIES[effect],
            f"{listed.client.title} {words[effect]}: {shown}{more}",
            help="`mcpgen lint --matrix` shows each tool and its source",
        )
