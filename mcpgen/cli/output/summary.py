"""Texts that commands print: the summary of `new`, changes of tools, cost of the tool list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpgen.changelog import Changelog, Level
from mcpgen.changelog.formats import format_change_json
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.pipeline.commands.changelog import ChangelogReport


_WITHOUT_CODE = 3  # search tools; code mode has one more


def describe_cost(printer: Printer, plan: ServerPlan) -> str:
    """Describe the cost of a planned server's list, and add its figures to the facts."""
    search = plan.search
    names = () if search is None else search.names
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
    """Return the costs in tokens; `search_tools` are the tools listed instead of all."""
    return {
        "budget": budget,
        "all_tools": all_tools,
        "listed": listed,
        "search_tools": list(search_tools),
    }


def instead(budget: int | None, all_tools: int, search_tools: Sequence[str]) -> str:
    """Explain why not all tools are listed, and which tools find the others."""
    *names, last = search_tools
    listed = f"{', '.join(names)} and {last}"
    cost = f"all of them would cost about {all_tools:,}"
    if len(search_tools) > _WITHOUT_CODE:
        return f"{cost}, and code mode lists {listed} instead"
    over = "the budget" if budget is None else f"the budget of {budget:,}"
    return f"{cost}, over {over}, and are found and called by {listed}"


def display_path(path: Path) -> str:
    """Return the path relative to the current folder; an outside path is returned as it is."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def collect_changelog_facts(changelog: Changelog) -> dict[str, Any]:
    """Return a changelog in its JSON form."""
    return {
        "level": changelog.level.word,
        "changes": [format_change_json(change) for change in changelog.changes],
    }


def collect_report_facts(report: ChangelogReport, changelog: Changelog) -> dict[str, Any]:
    """Return the facts of a comparison: the compared state, the versions and the changes."""
    return {
        "since": report.since,
        "version": report.version,
        "suggested_version": report.suggested_version,
        **collect_changelog_facts(changelog),
    }


def show_changes(printer: Printer, changelog: Changelog) -> None:
    """Print the changes, one per line; those of texts follow under a heading."""
    graded = [change for change in changelog.changes if change.level > Level.PATCH]
    for change in graded:
        _show(printer, change.level.word, change.tool, change.message, change.rule)
    if texts := changelog.of_level(Level.PATCH):
        printer.result("texts, by which models may behave otherwise:")
        for change in texts:
            _show(printer, change.level.word, change.tool, change.message, change.rule)
    for change in changelog.of_level(Level.NONE):
        _show(printer, "note", change.tool, change.message, change.rule)


def count_changes(changelog: Changelog) -> str:
    """Count changes by level: "2 major and 1 minor change"."""
    counts = [
        f"{len(found)} {level.word}"
        for level in (Level.MAJOR, Level.MINOR, Level.PATCH)
        if (found := changelog.of_level(level))
    ]
    if not counts:
        return "no change"
    graded = sum(change.level > Level.NONE for change in changelog.changes)
    return f"{format_count(graded, 'change')} ({', '.join(counts)})"


def _show(printer: Printer, word: str, tool: str, message: str, rule: str) -> None:
    name = f"{visible(tool)}: " if tool else ""
    printer.result(f"  {word:<5}  {name}{visible(message)}  [{rule}]")
