"""Compare flat and nested bodies in a tool's arguments: both must make the same request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.api import Api
from mcpgen.ir.listing_form import NEW_SERVERS, ListingForm
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.jsonschema.samples import CannotSampleError
from mcpgen.plan.cases.calls import Calls, CaseContext
from mcpgen.plan.plan import plan_tools
from mcpgen.render.contracts import group_contract, list_tools
from mcpgen.render.views import handler_module
from mcpgen.runtime.errors import InvalidArgumentsError
from mcpgen.runtime.tools.tool import Tool
from tests.support.policies import first_policy

WISHES = ("smallest", "largest", "example")


@dataclass
class Compared:
    """The counts of a comparison, and the differences."""

    bodies: int = 0
    flat: int = 0
    calls: int = 0
    refused: int = 0  # calls that both tools refuse
    inexpressible: int = 0  # bodies that no flat arguments send
    differences: list[str] = field(default_factory=list)


def compare_forms(api: Api, name: str = "shop") -> Compared:
    """Plan an API in both forms, pass the same bodies to the tools, and compare the requests.

    The handlers and the rules of the requests must be the same; then equal keywords of a handler
    are equal requests.
    """
    found = Compared()
    try:
        nested, flat = (_plan(api, name, form) for form in (ListingForm(), NEW_SERVERS))
    except RejectedError:
        return found
    found.differences += _compare_handlers(nested, flat)
    pairs = zip(_runtime_tools(nested), _runtime_tools(flat), strict=True)
    calls = Calls(CaseContext.of(nested), nested.api.schemas)
    for plan, (before, after) in zip(nested.tools, pairs, strict=True):
        found.bodies += "body" in before.keywords
        if after.flat_body is not None:
            found.flat += 1
            _compare_calls(plan, before, after, calls, found)
    return found


def _plan(api: Api, name: str, form: ListingForm) -> ServerPlan:
    return plan_tools(api, replace(first_policy(name), form=form), Problems())


def _compare_handlers(nested: ServerPlan, flat: ServerPlan) -> Iterator[str]:
    for one, other in zip(nested.groups, flat.groups, strict=True):
        if handler_module(nested, one) != handler_module(flat, other):
            yield f"the handlers of {one.module} differ"
        before, after = (
            group_contract(plan, group)["tools"] for plan, group in ((nested, one), (flat, other))
        )
        for name, entry in before.items():
            if entry["request"] != after[name]["request"]:
                yield f"{name}: the rules of the request differ"


def _runtime_tools(plan: ServerPlan) -> list[Tool]:
    """Return the tools as the runtime loads them, by name."""
    listed = {tool["name"]: tool for tool in list_tools(plan)}
    found: dict[str, Tool] = {}
    for group in plan.groups:
        for name, entry in group_contract(plan, group)["tools"].items():
            found[name] = Tool(name, {"listing": listed.get(name), **entry})
    return [found[name] for name in sorted(found)]


def _compare_calls(
    plan: ToolPlan, before: Tool, after: Tool, calls: Calls, found: Compared
) -> None:
    assert after.flat_body is not None
    for wish in WISHES:
        try:
            arguments = calls.call(plan, wish).arguments
        except CannotSampleError:
            continue
        spread = after.flat_body.spread(arguments)
        if spread is None:
            found.inexpressible += 1
            continue
        found.calls += 1
        expected, received = _prepare(before, arguments), _prepare(after, spread)
        found.refused += isinstance(expected, str)
        if repr(expected) != repr(received):
            found.differences.append(f"{plan.name}, {wish}: {expected!r} and {received!r}")


def _prepare(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any] | str:
    """Return the handler's keyword arguments, sorted, or the errors for invalid arguments."""
    try:
        return dict(sorted(tool.prepare_arguments(arguments).items()))
    except InvalidArgumentsError as error:
        return str(error)
