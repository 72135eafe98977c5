"""The summary of `new`: findings, decisions, the server's settings, and the next commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.summary import describe_cost, display_path
from mcpgen.cli.output.visible import visible
from mcpgen.ir.api import SkippedOperation
from mcpgen.ir.tool_plan import EnvironmentVariable, ServerPlan, ToolPlan
from mcpgen.jsonschema.types import JsonValue
from mcpgen.text.counts import format_count, format_size

if TYPE_CHECKING:
    from mcpgen.ir.findings import Decision, FoundDocument
    from mcpgen.pipeline.options import Report

_SHOWN_OF_A_REASON = 10
_SHOWN_TAGS = 3
_SHOWN_SKIPPED = 3
_SHOWN_SETTINGS = 4
_TRIED_TOOLS = 20


def summarize(
    printer: Printer, report: Report, plan: ServerPlan, repeat: Sequence[str] = ()
) -> None:
    """Print counts and costs, findings and decisions, the environment, and the next commands.

    `repeat` are the lines of a command that is equivalent to the user's answers.
    """
    tools = plan.tool_count
    operations = len(plan.api.operations) + len(plan.skipped) + len(plan.unselected)
    commands = _next_commands(plan, report.target)
    printer.fact(
        target=report.target.as_posix(),
        tools=tools,
        operations=operations,
        token_cost=plan.token_cost,
        left_out=[
            {"operation": gap.operation, "code": gap.code, "reason": gap.reason}
            for gap in plan.skipped
        ],
        unselected=[each.operation for each in plan.unselected],
        found=msgspec.to_builtins(report.found),
        decided=[
            {name: value for name, value in each.items() if name != "is_detail"}
            for each in msgspec.to_builtins(report.decisions)
        ],
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
    cost = describe_cost(printer, plan).partition(";")[0]  # the decisions explain the rest
    shown = display_path(report.target)
    printer.result(f"{shown}: {format_count(tools, 'tool')} of {made_of}; {cost}")
    for found in report.found:
        printer.section("Found", _describe_document(found, is_complete=printer.is_verbose))
    _show_decisions(printer, report.decisions)
    _show_skipped(printer, plan.skipped)
    _show_environment(printer, plan.environment)
    if repeat:
        printer.section("To repeat this without questions", [("", line) for line in repeat])
    printer.section("Next", [("", command) for command in commands])


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
    printer.section("Next", [("", command) for command in commands])


def _describe_document(found: FoundDocument, *, is_complete: bool) -> Iterator[tuple[str, str]]:
    about = f"OpenAPI {found.openapi}, {format_size(found.bytes)}"
    if found.files > 1:
        about += f" in {format_count(found.files, 'file')}"
    yield "document", f"{found.title} {found.version} ({about})".strip()
    tags = [f"{tag} ({number:,})" for tag, number in found.tags.items()]
    most = len(tags) if is_complete else _SHOWN_TAGS
    more = f", {len(tags) - most} more" if len(tags) > most else ""
    counts = f"{found.operations:,} ({found.reading:,} only read)"
    yield "operations", f"{counts}: {', '.join(tags[:most])}{more}"
    if is_complete or len(found.servers) != 1:
        yield "servers", ", ".join(found.servers) or "none"
    schemes = [f"{name} ({kind})" for name, kind in found.security_schemes.items()]
    yield "security", ", ".join(schemes) or "no security scheme"


def _show_decisions(printer: Printer, decisions: Sequence[Decision]) -> None:
    """Print the decisions; without `--verbose`, details are one line."""
    shown = [each for each in decisions if printer.is_verbose or not each.is_detail]
    rows = []
    for each in shown:
        change = each.change if printer.is_verbose else each.change[:1]
        rows.append((each.topic, f"{each.decision}: {each.reason} [{', '.join(change)}]"))
    details = [it.decision for it in decisions if it not in shown and it.topic != "list"]
    if details:
        rows.append(("also", f"{', '.join(details)} [-v]"))
    printer.section("Decided, with what changes it", rows)


def _installable(shown: str) -> str:
    where = shlex.quote(shown)
    return where if "/" in where else f"./{where}"


def _show_skipped(printer: Printer, skipped: tuple[SkippedOperation, ...]) -> None:
    if not skipped:
        return
    most = _SHOWN_OF_A_REASON if printer.is_verbose else _SHOWN_SKIPPED
    printer.result(f"\nLeft out, {format_count(len(skipped), 'operation')}:")
    by_code = sorted(skipped, key=lambda gap: (gap.code, gap.operation))
    for code, group in groupby(by_code, key=lambda gap: gap.code):
        gaps = list(group)
        printer.result(f"  {code}")
        for gap in gaps[:most]:
            printer.result(f"    {visible(gap.operation)}: {visible(gap.reason)}")
        if len(gaps) > most:
            printer.result(f"    and {len(gaps) - most:,} more, each told above")


def _show_environment(printer: Printer, settings: Sequence[EnvironmentVariable]) -> None:
    """Print the settings that calls need; with `--verbose` all, and their descriptions."""
    if printer.is_verbose:
        width = max((len(_use(it)) for it in settings), default=0)
        rows = [(it.name, f"{_use(it):<{width}}  {it.description}") for it in settings]
    else:
        needed = [it for it in settings if not _use(it).startswith("optional")]
        rows = [(it.name, _use(it)) for it in needed[:_SHOWN_SETTINGS]]
        if len(needed) > _SHOWN_SETTINGS:
            rows.append((f"{len(needed) - _SHOWN_SETTINGS} more", "listed by --verbose"))
    if rows:
        about = f"(.env.example describes all {len(settings)})"
        printer.section(f"The server reads from its environment {about}", rows)


def _use(setting: EnvironmentVariable) -> str:
    """Describe who needs a setting, in the words of the server's `--check-env`."""
    return setting.usage.describe_counts() if setting.usage is not None else setting.use


def _next_commands(plan: ServerPlan, target: Path) -> tuple[str, ...]:
    """Return the commands to type next: try it, if a tool can be tried, install, check."""
    where = shlex.quote(display_path(target))
    return (
        *_try_command(plan, where),
        f"pip install -e {_installable(display_path(target))}",
        f"{plan.distribution} --check-env",
    )


def _try_command(plan: ServerPlan, where: str) -> Iterator[str]:
    """Yield a call of a tool that needs few arguments and only reads, if there is one."""
    from mcpgen.jsonschema.samples import CannotSampleError, Samples

    samples = Samples(plan.api.schemas, "request")
    for tool in sorted(plan.tools, key=_rank)[:_TRIED_TOOLS]:
        try:
            values = {
                argument.name: samples.sample(argument.schema, seed=argument.name)
                for argument in tool.arguments
                if argument.required
            }
        except CannotSampleError:
            continue
        if tool.flat_body is not None:
            values = tool.flat_body.spread(values) or {}
        words = [f"{name}={_argument_text(value)}" for name, value in values.items()]
        if all(word == visible(word) for word in words):
            arguments = "".join(f" --arg {shlex.quote(word)}" for word in words)
            yield f"mcpgen call {tool.name} {where} --mock{arguments}"
            return


def _argument_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _rank(tool: ToolPlan) -> tuple[int, bool, str]:
    """Return the sort key: few required arguments first, then tools that only read."""
    return (
        len(tool.input_schema.get("required", ())),
        not tool.annotations.get("readOnlyHint", False),
        tool.name,
    )
