"""Texts that commands print: the summary of `new`, changes of tools, cost of the tool list."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpgen.changelog import Changelog, Level
from mcpgen.cli.output.report import Printer, format_count
from mcpgen.cli.output.visible import visible
from mcpgen.ir.api import SkippedOperation
from mcpgen.ir.tool_plan import EnvironmentVariable, ServerPlan, ToolPlan
from mcpgen.jsonschema.types import JsonObject

if TYPE_CHECKING:
    from mcpgen.pipeline.commands.changelog import ChangelogReport


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


_SHOWN_OF_A_REASON = 10


def summarize(printer: Printer, plan: ServerPlan, target: Path) -> None:
    """Print the counts, the gaps, the cost, the environment and the next three commands."""
    tools = len(plan.tools) + len(plan.workflows)
    operations = len(plan.api.operations) + len(plan.skipped) + len(plan.unselected)
    commands = _next_commands(plan, target)
    printer.fact(
        target=target.as_posix(),
        tools=tools,
        operations=operations,
        token_cost=plan.token_cost,
        left_out=[
            {"operation": gap.operation, "code": gap.code, "reason": gap.reason}
            for gap in plan.skipped
        ],
        unselected=list(plan.unselected),
        environment=[
            {
                "name": setting.name,
                "required": setting.required,
                "secret": setting.secret,
                "use": _use(setting),
            }
            for setting in plan.environment
        ],
        next=list(commands),
    )
    made_of = format_count(operations, "operation")
    if plan.workflows:
        made_of += f" and {format_count(len(plan.workflows), 'workflow')}"
    cost = describe_cost(printer, plan)
    printer.result(f"{display_path(target)}: {format_count(tools, 'tool')} of {made_of}; {cost}")
    if plan.unselected:
        printer.result(f"Not selected: {format_count(len(plan.unselected), 'operation')}")
    _show_skipped(printer, plan.skipped)
    _show_environment(printer, plan.environment)
    printer.result("\nNext:")
    for command in commands:
        printer.result(f"  {command}")


def summarize_by_hand(printer: Printer, plan: ServerPlan, target: Path) -> None:
    """Print where the handlers of a server without a document are written, and what to type."""
    shown = display_path(target)
    commands = (
        f"mcpgen call greet {shlex.quote(shown)} --arg name=Ada",
        f"pip install -e {_installable(shown)}",
        f"{plan.distribution} --http",
    )
    handlers = f"src/{plan.package}/handlers/"
    printer.fact(target=target.as_posix(), handlers=handlers, next=list(commands))
    printer.result(f"{shown}: a server whose tools, resources and prompts you write in {handlers}")
    printer.result("\nNext:")
    for command in commands:
        printer.result(f"  {command}")


def _installable(shown: str) -> str:
    where = shlex.quote(shown)
    return where if "/" in where else f"./{where}"


def _show_skipped(printer: Printer, skipped: tuple[SkippedOperation, ...]) -> None:
    if not skipped:
        return
    printer.result(f"\nLeft out, {format_count(len(skipped), 'operation')}:")
    by_code = sorted(skipped, key=lambda gap: (gap.code, gap.operation))
    for code, group in groupby(by_code, key=lambda gap: gap.code):
        gaps = list(group)
        printer.result(f"  {code}")
        for gap in gaps[:_SHOWN_OF_A_REASON]:
            printer.result(f"    {visible(gap.operation)}: {visible(gap.reason)}")
        if len(gaps) > _SHOWN_OF_A_REASON:
            printer.result(f"    and {len(gaps) - _SHOWN_OF_A_REASON:,} more, each told above")


def _show_environment(printer: Printer, settings: tuple[EnvironmentVariable, ...]) -> None:
    if not settings:
        return
    printer.result("\nThe server reads from its environment:")
    width = max(len(setting.name) for setting in settings)
    use_width = max(len(_use(setting)) for setting in settings)
    for setting in settings:
        use = f"{_use(setting):<{use_width}}"
        printer.result(f"  {setting.name:<{width}}  {use}  {visible(setting.description)}".rstrip())


def _use(setting: EnvironmentVariable) -> str:
    """Describe who needs a setting, in the words of the server's `--check-env`."""
    return setting.usage.describe_counts() if setting.usage is not None else setting.use


def _next_commands(plan: ServerPlan, target: Path) -> tuple[str, ...]:
    """Give the commands that a person types next: try it, where it has a tool, install, serve."""
    where = shlex.quote(display_path(target))
    trying: tuple[str, ...] = ()
    if plan.tools:
        tool = _easiest(plan.tools)
        arguments = "".join(
            f" --arg {shlex.quote(argument.name)}=…"
            for argument in tool.arguments
            if argument.required
        )
        trying = (f"mcpgen call {tool.name} {where} --mock{arguments}",)
    return (
        *trying,
        f"pip install -e {_installable(display_path(target))}",
        f"{plan.distribution} --check-env",
    )


def _easiest(tools: tuple[ToolPlan, ...]) -> ToolPlan:
    """Choose the tool to try first: one that needs no arguments and only reads, if there is one."""
    return min(
        tools,
        key=lambda tool: (
            sum(argument.required for argument in tool.arguments),
            not tool.annotations.get("readOnlyHint", False),
            tool.name,
        ),
    )


def display_path(path: Path) -> str:
    """Give `path` as the user would type it from here."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def collect_changelog_facts(changelog: Changelog) -> dict[str, Any]:
    """Give a changelog as JSON carries it."""
    return {
        "level": changelog.level.word,
        "changes": [
            {
                "rule": change.rule,
                "level": change.level.word,
                "tool": change.tool,
                "path": change.path,
                "message": change.message,
                "certain": change.is_certain,
            }
            for change in changelog.changes
        ],
    }


def collect_report_facts(report: ChangelogReport, changelog: Changelog) -> dict[str, Any]:
    """Return the facts of a comparison: what it is with, the versions, and the changes."""
    return {
        "since": report.since,
        "version": report.version,
        "suggested_version": report.suggested_version,
        **collect_changelog_facts(changelog),
    }


def show_changes(printer: Printer, changelog: Changelog) -> None:
    """Print each change on a line of its own, those of texts apart."""
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
