"""Contents of a server's page: tools, operations, results, and instructions for installation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.factory.clients.entries import EntryError, InstalledServer, Value, build_entry
from mcpgen.factory.clients.install import make_snippet
from mcpgen.factory.clients.registry import read_install_clients
from mcpgen.factory.lint.findings import RULES
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.packages import GeneratedPackage, NoPackageError, find_package
from mcpgen.factory.status.examine import examine_server
from mcpgen.factory.status.model import Fleet, Operation, ServerDetails, ServerStatus, Tool
from mcpgen.factory.workspace.members import Server
from mcpgen.ir.client_checks import read_text
from mcpgen.ir.clients import read_clients
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.project.evidence import LINT, VALIDATE, format_time, read_evidence
from mcpgen.pipeline.project.input_hashes import ProjectFiles
from mcpgen.pipeline.project.operations import iterate_operations

_TESTS: Final = "tests"
_CHECKS: Final = ("source", LINT, _TESTS, VALIDATE, "live", "bundle", "published")
_HINTS: Final = frozenset({"destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"})


def read_details(status: ServerStatus, target: Path) -> ServerDetails:
    """Read the details in the folder of a server; unreadable ones are omitted."""
    evidence = {check: read_evidence(target, check) or {} for check in _CHECKS}
    operations = tuple(
        Operation(it.key, it.tool, it.reason, it.is_excluded)
        for it in iterate_operations(ProjectFiles(target))
    )
    details = ServerDetails(
        status=status,
        operations=operations,
        findings=tuple(_list_findings(evidence[LINT])),
        requirements=_select_objects(evidence[VALIDATE].get("revisions")),
        history=tuple(_list_history(evidence)),
    )
    try:
        package = find_package(target)
        tools = tuple(_list_tools(package, operations, evidence[_TESTS].get("cases")))
        return replace(details, tools=tools, install=_make_snippets(package))
    except (NoPackageError, OSError, ValueError):
        return details


def _list_tools(
    package: GeneratedPackage, operations: Sequence[Operation], cases: object
) -> Iterator[Tool]:
    served = {it.tool: it.id for it in operations}
    counts = cases if isinstance(cases, dict) else {}
    for tool in load_package(package).all_tools:
        name = read_text(tool, "name")
        count = counts.get(name)
        yield Tool(
            name=name,
            title=read_text(tool, "title"),
            description=read_text(tool, "description"),
            operation=served.get(name, ""),
            tokens=estimate_tokens(tool),
            annotations={
                key: value
                for key, value in _as_object(tool.get("annotations")).items()
                if key in _HINTS and isinstance(value, bool)
            },
            input_schema=_as_object(tool.get("inputSchema")),
            output_schema=_as_object(tool.get("outputSchema")) or None,
            cases=count if isinstance(count, int) else None,
        )


def _list_findings(lint: Mapping[str, Any]) -> Iterator[JsonObject]:
    """Yield the findings of the last run of lint; of mcpgen 0.6, one for each rule."""
    found = lint.get("findings")
    if isinstance(found, list):
        yield from (it for it in found if isinstance(it, dict))
        return
    for rule_id, count in _as_object(lint.get("rules")).items():
        rule = RULES.get(rule_id)
        yield {
            "rule": rule_id,
            "severity": rule.severity.value if rule else "",
            "message": rule.title if rule else "",
            "why": rule.why if rule else "",
            "help": rule.help if rule else "",
            "count": count,
        }


def _list_history(evidence: Mapping[str, Mapping[str, Any]]) -> Iterator[JsonObject]:
    """Yield the last result of each check and the earlier ones, the latest first."""
    found: list[JsonObject] = []
    for check, last in evidence.items():
        earlier = last.get("earlier")
        for entry in (last, *(earlier if isinstance(earlier, list) else ())):
            if read_text(_as_object(entry), "result"):
                facts = {key: read_text(entry, key) for key in ("time", "outcome", "result")}
                found.append({"check": check, **facts})
    yield from sorted(found, key=lambda entry: str(entry["time"]), reverse=True)


def _make_snippets(package: GeneratedPackage) -> dict[str, str]:
    """Return what to paste into the file of each client, without any secret.

    A client that cannot refer to an environment variable gets a placeholder: "<PETSTORE_API_KEY>".
    """
    name = str(package.contract.get("name", package.name))
    command = (package.name.replace("_", "-"),)
    credentials = [
        str(setting["name"])
        for setting in package.contract.get("environment", ())
        if setting.get("required")
        or (setting.get("scheme") and not str(setting.get("part", "")).endswith("_file"))
    ]
    references = {it: Value(None, it, is_secret=True) for it in credentials}
    placeholders = {it: Value(f"<{it}>", it, is_secret=True) for it in credentials}
    snippets: dict[str, str] = {}
    made: dict[bytes, str] = {}  # many clients have the same form
    for client in read_install_clients().values():
        if not client.is_verified:
            continue
        server = InstalledServer(name=name, command=command, env=references)
        try:
            entry = build_entry(server, client, inline_secrets=False)
        except EntryError:
            entry = build_entry(replace(server, env=placeholders), client, inline_secrets=True)
        form = msgspec.json.encode((client.format, client.keys, client.is_list, entry))
        snippets[client.id] = made.get(form) or make_snippet(client, name, entry)
        made[form] = snippets[client.id]
    return snippets


def _select_objects(value: object) -> dict[str, JsonObject]:
    return {key: it for key, it in _as_object(value).items() if isinstance(it, dict)}


def _as_object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def collect_fleet(title: str, root: Path, servers: Sequence[Server], now: datetime) -> Fleet:
    """Examine servers, whose paths are relative to `root`, and read their details."""
    details = (
        read_details(examine_server(it.target, it.path, it.owners, now), it.target)
        for it in servers
    )
    return _make_fleet(title, root, details, now)


def collect_server(target: Path, now: datetime) -> Fleet:
    """Examine a server outside of a workspace, whose commands are run in its folder."""
    status = replace(examine_server(target, ".", (), now), server=target.name)
    return _make_fleet(target.name, target, [read_details(status, target)], now)


def _make_fleet(title: str, root: Path, servers: Iterable[ServerDetails], now: datetime) -> Fleet:
    clients = {each.id: each.title for each in read_clients().values()}
    return Fleet(title, root.name, tuple(servers), clients, format_time(now))
