"""Summary that `mcpgen new` prints: what was generated and skipped, and the next commands."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path

from mcpgen.cli.output.listing import describe_cost
from mcpgen.cli.output.report import Printer, format_count
from mcpgen.cli.output.visible import visible
from mcpgen.ir.api import SkippedOperation
from mcpgen.ir.tool_plan import EnvironmentVariable, ServerPlan, ToolPlan

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
