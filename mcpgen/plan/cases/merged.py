"""Test cases of merged tools: each operation is called, and arguments of others are rejected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.cases.calls import PLACES
from mcpgen.plan.cases.entries import SMALLEST_CALL, make_cases


def make_merged_cases(plan: ServerPlan) -> list[JsonObject]:
    """Return the complete cases of `tests/generated/cases.json` for the merged tools.

    A call expects the request that the tool of the operation sends for the same arguments.
    """
    tools = {tool.name: tool for tool in plan.tools}
    members = [tools[member.tool] for merged in plan.merged for member in merged.merges]
    entries = {entry["tool"]: entry for entry in make_cases(plan, Problems(), members)}
    return [case for tool in plan.merged for case in _iterate_cases(tool, tools, entries)]


def _iterate_cases(
    merged: ToolPlan, tools: Mapping[str, ToolPlan], entries: Mapping[str, JsonObject]
) -> Iterator[JsonObject]:
    smallest: dict[str, JsonObject] = {}
    for member in merged.merges:
        entry = entries[member.tool]
        for call in entry.get("calls", ())[:2]:
            case = _make_call(merged, member.choice, entry, call)
            smallest.setdefault(member.choice, case)
            yield case
        if "calls" not in entry:
            what = f"{merged.scope} {member.choice}"
            why = next(it["why"] for it in entry["untested"] if it["what"] == SMALLEST_CALL)
            yield {"id": f"{merged.name}: {what}", "tool": merged.name, "untested": why}
    for choice, case in smallest.items():
        yield from _iterate_refusals(merged, choice, case, smallest, tools)


def _make_call(merged: ToolPlan, choice: str, entry: JsonObject, call: JsonObject) -> JsonObject:
    """Return the case that calls a member's operation as one of the member's own cases does."""
    first = entry["calls"][0]
    request = {**first["request"], **call["request"]}
    for place in PLACES:
        request[place] = {**first["request"].get(place, {}), **call["request"].get(place, {})}
    expect = {"operation": entry["operation"], "is_error": False, "request": request}
    if "kept" in entry:
        expect["kept"] = entry["kept"]
    return {
        "id": f"{merged.name}: {merged.scope} {choice}, {call['what']}",
        "tool": merged.name,
        "arguments": {merged.scope: choice, **first["arguments"], **call["arguments"]},
        "expect": expect,
        **{key: entry[key] for key in ("reply", "settings") if key in entry},
    }


def _iterate_refusals(
    merged: ToolPlan,
    choice: str,
    case: JsonObject,
    smallest: Mapping[str, JsonObject],
    tools: Mapping[str, ToolPlan],
) -> Iterator[JsonObject]:
    """Yield calls without the selection, without an argument, and with one of another member."""
    arguments = case["arguments"]
    members = {member.choice: tools[member.tool] for member in merged.merges}

    def refuse(what: str, passed: JsonObject, *contains: str) -> JsonObject:
        return {
            "id": f"{merged.name}: {merged.scope} {choice}, {what}",
            "tool": merged.name,
            "group": "refused",
            "arguments": passed,
            "expect": {
                "operation": case["expect"]["operation"],
                "is_error": True,
                "request": None,
                "text": {"contains": list(contains)},
            },
        }

    unselected = {name: value for name, value in arguments.items() if name != merged.scope}
    yield refuse("not selected", unselected, f"`/{merged.scope}` is required", f"`{choice}`")
    needed = [it for it in members[choice].input_schema.get("required", ()) if it in arguments]
    for name in needed[:1]:
        passed = {key: value for key, value in arguments.items() if key != name}
        yield refuse(f"without {name}", passed, f"`/{name}` is required", f"`{choice}`")
    own = members[choice].input_schema.get("properties", {})
    others = {
        name: value
        for other in smallest.values()
        for name, value in other["arguments"].items()
        if name not in own and name != merged.scope
    }
    for name, value in [*others.items()][:1]:
        yield refuse(
            f"with {name}", {**arguments, name: value}, f"`/{name}` is not for", f"`{choice}`"
        )
