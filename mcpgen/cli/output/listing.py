"""What listing the tools costs, and what was done to meet the budget, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpgen.cli.output.report import Printer
from mcpgen.jsonschema.types import JsonObject

if TYPE_CHECKING:
    from mcpgen.ir.tool_plan import ServerPlan


def describe_cost(printer: Printer, plan: ServerPlan) -> str:
    """Say what the list of a planned server costs; the figures become facts of the answer."""
    search = plan.search
    names = () if search is None else (search.search, search.describe, search.call)
    listed = plan.token_cost if search is None else search.token_cost
    printer.fact(listing=collect_listing_facts(plan.budget, plan.token_cost, listed, names))
    if search is None:
        return f"listing them costs about {plan.token_cost:,} tokens"
    return f"what is listed costs about {listed:,} tokens; " + instead(
        plan.budget, plan.token_cost, names
    )


def collect_listing_facts(
    budget: int | None, all_tools: int, listed: int, search_tools: Sequence[str]
) -> JsonObject:
    """Give the costs in tokens; `search_tools` are listed in place of tools over the budget."""
    return {
        "budget": budget,
        "all_tools": all_tools,
        "listed": listed,
        "search_tools": list(search_tools),
    }


def instead(budget: int | None, all_tools: int, search_tools: Sequence[str]) -> str:
    """Say why not all tools are listed, and how the others are found."""
    over = "the budget" if budget is None else f"the budget of {budget:,}"
    *names, last = search_tools
    return (
        f"all of them would cost about {all_tools:,}, over {over}, and are found and called by"
        f" {', '.join(names)} and {last}"
    )
