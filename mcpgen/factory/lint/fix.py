"""Repairs of findings by entries of mcpgen.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from mcpgen.diagnostics import Problems, RejectedError, Severity
from mcpgen.factory.lint.findings import Finding
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.run import Report
from mcpgen.ir.client_checks import read_text
from mcpgen.ir.clients import read_clients
from mcpgen.ir.portable_profile import MAX_PARAMETERS, MAX_PREFIXED_NAME, MAX_TOOL_NAME
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.pipeline.build import plan_project
from mcpgen.pipeline.options import GenerateOptions, Progress
from mcpgen.pipeline.project.project_folder import find_lock
from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent

_LEAST_BUDGET: Final = 1000  # of the manifest's schema
_FILLERS: Final = frozenset("a all an and by for from in of on the to with".split())
_HIDEABLE: Final = frozenset(["schema-keyword", "schema-reference", "property-name", "type-union"])


class Fix(Struct, frozen=True):
    """One value of the manifest that repairs a finding."""

    keys: tuple[str, ...]
    value: JsonValue
    reason: str  # its effect: "renames `…`"


def find_fixes(
    target: Path, report: Report, problems: Problems, progress: Progress
) -> tuple[Fix, ...]:
    """Return the manifest values that fix findings, as far as possible; texts are never invented.

    Raises:
        RejectedError: the project cannot be planned; `problems` contains the reasons.
    """
    fixable = [each for each in report.findings if _is_fixable(each)]
    if not fixable:
        return ()
    found = find_lock(target, problems)
    if found is None:
        raise RejectedError
    inputs = read_inputs(target, read_intent(target, problems), GenerateOptions(), lock=found.lock)
    plan = plan_project(inputs, Problems(), progress).plan
    tools = {tool.name: tool for tool in plan.tools}
    fixes = [*_fix_size(report.listing, fixable)]
    taken = {read_text(tool, "name") for tool in report.listing.all_tools}
    for name in dict.fromkeys(each.tool for each in fixable):
        if name in tools:
            own = [each for each in fixable if each.tool == name]
            fixes += _fix_tool(tools[name], own, report.listing, taken)
    return tuple({fix.keys: fix for fix in fixes}.values())


def _is_fixable(finding: Finding) -> bool:
    rules = {"tool-name", "too-many-tools", "token-budget", "many-parameters", "annotations"}
    return finding.waived is None and finding.rule in rules | _HIDEABLE


def _fix_size(listing: Listing, fixable: Sequence[Finding]) -> Iterator[Fix]:
    """Lower the budget, so that search tools replace a list that is too long."""
    rules = {"too-many-tools", "token-budget"}
    if listing.has_search or not any(each.rule in rules for each in fixable):
        return
    budget = max(_LEAST_BUDGET, (listing.token_cost - 1) // 1000 * 1000)
    if budget < listing.token_cost:
        yield Fix(("budget",), budget, "lists three search tools instead of all tools")


def _fix_tool(
    tool: ToolPlan, findings: Sequence[Finding], listing: Listing, taken: set[str]
) -> Iterator[Fix]:
    own = tool.stated.own
    rules = {finding.rule for finding in findings}
    if "tool-name" in rules:
        limit = _find_name_limit(listing.server, findings)
        shorter = shorten_name(tool.name, limit, taken)
        if shorter:
            taken.add(shorter)
            yield Fix((*own, "name"), shorter, f"renames `{tool.name}`")
            aliases = [*tool.stated.entry.aliases, tool.name]
            yield Fix((*own, "aliases"), aliases, f"keeps `{tool.name}` as an alias")
    hidden = _find_hidden(tool, findings)
    for name in hidden:
        reason = f"hides the argument `{name}` of `{tool.name}`"
        yield Fix((*own, "parameters", name, "hidden"), True, reason)
    if "annotations" in rules and "destructiveHint" not in tool.annotations:
        reason = f"states that `{tool.name}` may destroy something, which is MCP's default"
        yield Fix((*own, "annotations", "destructiveHint"), True, reason)


def _find_name_limit(server: str, findings: Sequence[Finding]) -> int:
    """Return the longest name that all clients of the findings accept."""
    rooms = [MAX_TOOL_NAME, MAX_PREFIXED_NAME - len(f"mcp__{server}__")]
    clients = {each.client for finding in findings for each in finding.clients}
    rooms += [
        limit.most - len(limit.around.format(server=server, tool=""))
        for client in clients
        for limit in read_clients()[client].limit
        if limit.counts == "tool-name"
    ]
    return min(rooms)


def shorten_name(name: str, limit: int, taken: set[str]) -> str:
    """Return a shorter name without some of the words; "" if none fits or is free.

    The first and the last word stay.
    """
    words = name.split("_")
    words = [words[0], *(word for word in words[1:-1] if word not in _FILLERS), *words[1:][-1:]]
    while len(words) > 2 and (len("_".join(words)) > limit or "_".join(words) in taken):
        del words[1]
    shorter = "_".join(words)
    return shorter if len(shorter) <= limit and shorter not in taken and shorter != name else ""


def _find_hidden(tool: ToolPlan, findings: Sequence[Finding]) -> list[str]:
    """Return optional arguments to hide: those that a client rejects, and deprecated ones.

    They are named as in the manifest.
    """
    optional = _find_optional(tool)
    hidden: list[str] = []
    for finding in findings:
        is_lost = finding.severity is Severity.ERROR  # else hiding costs more than it repairs
        at = ("inputSchema", "properties")
        if finding.rule in _HIDEABLE and is_lost and finding.tokens[:2] == at:
            hidden += [optional[name] for name in finding.tokens[2:3] if name in optional]
        elif finding.rule == "many-parameters":
            excess = len(_list_names(tool)) - MAX_PARAMETERS
            deprecated = [name for name in optional if _is_deprecated(tool.input_schema, name)]
            hidden += [optional[name] for name in deprecated[:excess]]
    known: Mapping[str, object] = tool.stated.entry.parameters
    return [name for name in dict.fromkeys(hidden) if name not in known]


def _list_names(tool: ToolPlan) -> dict[str, str]:
    """Return the names in the manifest of the arguments that the API knows, by listed name."""
    flat = tool.flat_body
    names = {item.name: item.name for item in tool.arguments}
    if flat is None:
        return names
    members = {
        name: f"{flat.argument}.{tool.wire_names.get(it, it)}" for name, it in flat.members.items()
    }
    return {name: it for name, it in names.items() if name != flat.argument} | members


def _find_optional(tool: ToolPlan) -> dict[str, str]:
    required = tool.input_schema.get("required", ())
    return {name: it for name, it in _list_names(tool).items() if name not in required}


def _is_deprecated(schema: JsonObject, name: str) -> bool:
    part = schema.get("properties", {}).get(name)
    return isinstance(part, dict) and read_text(part, "description").startswith("[deprecated]")
