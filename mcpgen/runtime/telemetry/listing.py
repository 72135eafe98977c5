"""Facts about the tools of a package: the operation, and whether a call changes something."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mcpgen.runtime.telemetry.tool_facts import ToolFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpgen.runtime.content import JsonObject
    from mcpgen.runtime.package import ServerPackage

_READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "QUERY"})


def list_tool_facts(package: ServerPackage) -> dict[str, ToolFacts]:
    """Return the facts of all tools that a client may call, also under former names.

    A tool changes something unless its annotations or its operation say that it only reads.
    """
    contracts = {**package.read_tool_contracts(), **package.read_merged_contracts()}
    tools = package.definition.tools
    listed: Mapping[str, Any] = tools.items if tools is not None else {}
    facts = {name: _describe(contract, listed.get(name)) for name, contract in contracts.items()}
    for name, tool in listed.items():
        facts.setdefault(name, _describe({}, tool))
    search = package.contract.get("search")
    if search is not None:
        for role, name in search.items():
            if role in {"search", "describe", "call", "run"} and type(name) is str:
                facts[name] = ToolFacts("", False, calls_another=role == "call")
    for alias, name in package.contract.get("aliases", {}).items():
        if name in facts:
            facts[alias] = facts[name]
    return facts


def _describe(contract: JsonObject, listed: Any) -> ToolFacts:
    operation = str(contract.get("operation", ""))
    tool = json.loads(listed) if isinstance(listed, bytes) else listed
    annotations = (tool or contract.get("listing") or {}).get("annotations") or {}
    if type(annotations.get("readOnlyHint")) is bool:
        return ToolFacts(operation, not annotations["readOnlyHint"])
    return ToolFacts(operation, operation.partition(" ")[0] not in _READING_METHODS)
