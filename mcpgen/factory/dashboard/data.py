"""The data of the dashboard's pages of servers, inlined as JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from mcpgen.factory.clients.registry import read_install_clients
from mcpgen.factory.status.model import Fleet, ServerDetails, ServerStatus, Tool
from mcpgen.factory.validate.requirements import read_requirements
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.text.invisible import escape_invisible

MAX_TOOL_BYTES: Final = 800_000
"""Size of all descriptions and schemas in one page.

If they are larger, each server has an equal share, and schemas that do not fit are omitted.
"""

MAX_SNIPPET_BYTES: Final = 250_000
"""The same for the snippets of clients."""

MAX_FINDING_BYTES: Final = 250_000
"""The same for findings."""

_SCORED: Final = (
    "applicable", "coverage", "exercised", "failed", "findings", "not_applicable", "passed",
    "reliable", "score", "undecided", "untested", "verdict",
)  # fmt: skip

_HINTS: Final = {  # text of a page for an annotation with this value
    ("readOnlyHint", True): "read-only",
    ("readOnlyHint", False): "writes",
    ("destructiveHint", True): "destructive",
    ("idempotentHint", True): "idempotent",
    ("openWorldHint", True): "open world",
}


def make_page_data(fleet: Fleet, base: str) -> JsonObject:
    """Return the data of the pages: the fleet, without parts that would make the file large.

    Equal snippets of a server are one. Invisible characters are written out in all texts.
    """
    shares = _Shares(
        _share(MAX_TOOL_BYTES, [_measure_tools(it) for it in fleet.servers]),
        _share(MAX_SNIPPET_BYTES, [sum(map(len, {*it.install.values()})) for it in fleet.servers]),
        _share(MAX_FINDING_BYTES, [sum(map(_measure, it.findings)) for it in fleet.servers]),
    )
    data = {
        "title": fleet.title,
        "now": fleet.now,
        "folders": {  # as URLs, which begin with "." so that no name can be a scheme
            escape_invisible(server.status.server): f"./{quote(f'{base}{server.status.server}')}"
            for server in fleet.servers
        },
        "clients": dict(fleet.clients),
        "servers": [_describe_server(server, shares) for server in fleet.servers],
        "requirements": _explain_requirements(fleet),
    }
    shown: JsonObject = _show(data)
    return shown


def encode_inline(data: JsonValue) -> str:
    """Return JSON for an element of an HTML page: no text can end the element or open another."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class _Shares(Struct, frozen=True):
    """Bytes that each server may use for its large parts."""

    tools: int
    snippets: int
    findings: int


def _share(most: int, sizes: Sequence[int]) -> int:
    """Return how much each server may have of what has these sizes."""
    return most // len(sizes) if sum(sizes) > most else most


def _describe_server(server: ServerDetails, shares: _Shares) -> JsonObject:
    described: JsonObject = msgspec.to_builtins(server)
    findings = _take_fitting(described["findings"], shares.findings)
    return {
        **described,
        "status": _describe_status(server.status),
        "tools": list(_describe_tools(server.tools, shares.tools)),
        "findings": findings,
        "more_findings": len(server.findings) - len(findings),
        "operations": len(server.operations),
        "left_out": [msgspec.to_builtins(it) for it in server.operations if not it.tool],
        "install": _join_snippets(server, shares.snippets),
        "requirements": {
            revision: {key: value for key, value in result.items() if key in _SCORED}
            for revision, result in server.requirements.items()
        },
    }


def _describe_status(status: ServerStatus) -> JsonObject:
    """Return a status in which the clients without any limit are names only."""
    described: JsonObject = msgspec.to_builtins(status)
    cells = described["clients"]
    fine = [client for client, cell in cells.items() if cell["effect"] == "ok"]
    return {
        **described,
        "clients": {client: cell for client, cell in cells.items() if client not in fine},
        "fine_clients": fine,
    }


def _describe_tools(tools: Sequence[Tool], share: int) -> Iterator[JsonObject]:
    """Yield tools without empty members, with their schemas as long as these fit."""
    left = share - sum(len(tool.description) for tool in tools)
    for tool in tools:
        left -= _measure_schemas(tool)
        hints = (_HINTS.get(hint) for hint in tool.annotations.items())
        described: JsonObject = {
            **msgspec.to_builtins(tool),
            "annotations": [it for it in hints if it],
        }
        if left < 0:
            del described["input_schema"], described["output_schema"]
        yield {name: value for name, value in described.items() if value not in ("", None)}


def _measure_tools(server: ServerDetails) -> int:
    return sum(len(tool.description) + _measure_schemas(tool) for tool in server.tools)


def _measure_schemas(tool: Tool) -> int:
    return _measure((tool.input_schema, tool.output_schema))


def _measure(value: JsonValue) -> int:
    return len(msgspec.json.encode(value))


def _take_fitting(values: Sequence[JsonObject], share: int) -> list[JsonObject]:
    """Return the first values, as long as they fit."""
    sizes = itertools.accumulate(map(_measure, values))
    return [value for value, size in zip(values, sizes, strict=True) if size <= share]


def _join_snippets(server: ServerDetails, share: int) -> list[JsonObject]:
    """Return the snippets, each with its clients, as long as they fit; the last has the others."""
    known = read_install_clients()
    clients: dict[str, list[str]] = {}
    for client, snippet in server.install.items():
        title = known[client].title if client in known else client
        clients.setdefault(snippet, []).append(title)
    joined: list[JsonObject] = []
    left, others = share, list[str]()
    for snippet, titles in clients.items():
        left -= len(snippet)
        if left >= 0:
            joined.append({"clients": titles, "text": snippet})
        else:
            others += titles
    return [*joined, *([{"clients": others, "text": None}] if others else [])]


def _explain_requirements(fleet: Fleet) -> dict[str, JsonObject]:
    """Return the requirements that a server violates, or that are not decided, by id."""
    ids = {
        str(requirement)
        for server in fleet.servers
        for revision in server.requirements.values()
        for key in ("findings", "undecided")
        for requirement in _as_list(revision.get(key))
    }
    return {
        row.id: {
            "level": row.level,
            "requirement": row.requirement,
            "help": row.help,
            "section": row.section,
        }
        for row in read_requirements().requirement
        if row.id in ids
    }


def _as_list(value: JsonValue) -> list[Any]:
    return value if isinstance(value, list) else []


def _show(value: JsonValue) -> JsonValue:
    """Write out the invisible characters of all texts; line ends stay."""
    if isinstance(value, str):
        return "\n".join(map(escape_invisible, value.split("\n")))
    if isinstance(value, dict):
        return {escape_invisible(key): _show(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_show(each) for each in value]
    return value
