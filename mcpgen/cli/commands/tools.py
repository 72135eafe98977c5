"""`mcpgen tools`: list the tools of a server and their token costs, or explain one tool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpgen.cli.completion_values import list_tools
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Revision, Server
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.summary import collect_listing_facts, instead
from mcpgen.cli.output.visible import visible
from mcpgen.cli.targets import connect, converse, find_target
from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.tool_costs import format_cost_json, measure_tool
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.options import Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.explain import Setting


def tools(
    printer: Printer,
    server: Server = None,
    *,
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens", help="Show the estimated tokens of each tool, and of its two schemas."
        ),
    ] = False,
    explain: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="TOOL",
            help="Show the settings of a tool, each with the file and line, or the rule, that"
            " decides it.",
            autocompletion=list_tools,
        ),
    ] = "",
    proposals: Annotated[
        bool,
        typer.Option(
            "--proposals",
            help="Print entries for mcpgen.yaml: merged tools, and workflows that find and act.",
        ),
    ] = False,
    revision: Revision = "2025-11-25",
) -> int:
    """List the tools of a server."""
    if proposals:
        if explain or tokens:
            raise UsageError("--proposals cannot be combined with --explain or --tokens")
        return show_proposals(printer, server or ())
    if explain:
        return explain_tool(printer, server or (), explain)
    return converse(printer, _show_tools(printer, server or (), revision, with_tokens=tokens))


async def _show_tools(
    printer: Printer, server: Sequence[str], revision: str, *, with_tokens: bool
) -> int:
    target = find_target(server)
    async with connect(target, revision) as client:
        listed = await client.list_tools()
    printer.fact(tools=listed, token_cost=sum(map(estimate_tokens, listed)))
    unlisted = [] if target.package is None else _find_unlisted(target.package, listed)
    if with_tokens:
        _show_costs(printer, [*listed, *unlisted])
    else:
        _show(printer, listed)
    total = _describe_listing(printer, listed, target.package) if with_tokens else ""
    printer.result(f"{format_count(len(listed), 'tool')}{total}")
    if target.package is not None and unlisted:
        are_found = any(tool["name"] in target.package.search_tools for tool in listed)
        printer.result(
            f"{format_count(len(unlisted), 'other tool')} can be"
            f" {'searched for and called' if are_found else 'called'}"
        )
    return printer.finish(Outcome.DONE)


def _show(printer: Printer, shown: Sequence[JsonObject]) -> None:
    width = max((len(tool["name"]) for tool in shown), default=0)
    for tool in shown:
        printer.result(f"{visible(tool['name']):<{width}}  {title(tool)}".rstrip())


def _show_costs(printer: Printer, shown: Sequence[JsonObject]) -> None:
    """Print the tokens of each tool, and of its schemas."""
    costs = [measure_tool(tool) for tool in shown]
    printer.fact(costs=[format_cost_json(cost) for cost in costs])
    printer.result(f"{'tokens':>8}  {'input':>7}  {'output':>7}  tool")
    for cost in costs:
        figures = f"{cost.tokens:>8,}  {cost.input_schema:>7,}  {cost.output_schema:>7,}"
        printer.result(f"{figures}  {visible(cost.name)}")


def _find_unlisted(package: GeneratedPackage, listed: Sequence[JsonObject]) -> list[JsonObject]:
    names = {tool["name"] for tool in listed}
    return [tool for tool in package.read_tools() if tool["name"] not in names]


def _describe_listing(
    printer: Printer, listed: Sequence[JsonObject], package: GeneratedPackage | None
) -> str:
    """Describe the cost of the list and, for a generated package, how it meets its budget."""
    cost = sum(map(estimate_tokens, listed))
    text = f"; listing them costs about {cost:,} tokens"
    if package is None:
        return text
    budget, all_tools = _read_budget(package), sum(map(estimate_tokens, package.read_tools()))
    printer.fact(listing=collect_listing_facts(budget, all_tools, cost, package.search_tools))
    if package.search_tools:
        return f"{text}; {instead(budget, all_tools, package.search_tools)}"
    return text if budget is None else f"{text} of a budget of {budget:,}"


def _read_budget(package: GeneratedPackage) -> int | None:
    """Return the budget in the manifest; None if it cannot be read, which other commands report."""
    from mcpgen.pipeline.project.read_inputs import read_intent

    try:
        return read_intent(package.directory, Problems()).manifest.budget
    except RejectedError:
        return None


def title(tool: JsonObject) -> str:
    """Return the title of a tool, or else the first line of its description."""
    annotated = tool.get("annotations", {}).get("title")
    text = tool.get("title") or annotated or tool.get("description", "").partition("\n")[0]
    return visible(text)


_MAX_VALUE = 60


def explain_tool(printer: Printer, server: Sequence[str], name: str) -> int:
    """Print each setting of a tool with its value and its source.

    Raises:
        UsageError: the server is no folder that mcpgen made, or has no such tool.
    """
    from mcpgen.factory.explain import ExplainedTool, explain

    package = _require_package(server, "--explain")
    problems = Problems()
    try:
        with printer.progress() as progress:
            found = explain(Path(package.directory), name, problems, progress)
    except RejectedError:
        printer.problems(problems)
        return printer.finish(Outcome.REJECTED)
    if not isinstance(found, ExplainedTool):
        raise UsageError(
            f"unknown tool `{name}`",
            help=did_you_mean(name, found, "`mcpgen tools` lists the tools"),
        )
    printer.fact(
        tool=found.name,
        operation=found.operation,
        settings=[_as_json(each) for each in found.settings],
    )
    printer.result(f"{visible(found.name)}: {visible(found.operation)}")
    rows = [(each.setting, _format_value(each.value), _source(each)) for each in found.settings]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for setting, value, source in rows:
        printer.result(f"  {setting:<{widths[0]}}  {value:<{widths[1]}}  {source}")
    return printer.finish(Outcome.DONE)


def _require_package(server: Sequence[str], option: str) -> GeneratedPackage:
    package = find_target(server).package
    if package is None:
        raise UsageError(f"{option} needs the folder of a server that mcpgen generated")
    return package


def show_proposals(printer: Printer, server: Sequence[str]) -> int:
    """Print entries for the manifest of a server, which it does not have.

    Raises:
        UsageError: the server is no folder that mcpgen made.
    """
    from mcpgen.pipeline.proposals import propose
    from mcpgen.render.manifest_yaml import spell_proposals

    package = _require_package(server, "--proposals")
    problems = Problems()
    try:
        with printer.progress() as progress:
            found = propose(Path(package.directory), problems, progress)
    except RejectedError:
        printer.problems(problems)
        return printer.finish(Outcome.REJECTED)
    printer.fact(
        merged=found.merged,
        workflows=found.workflows,
        not_shown={"merged": found.more_merged, "workflows": found.more_workflows},
    )
    unshown = found.more_merged + found.more_workflows
    counted = f"{format_count(len(found.merged), 'merged tool')} and"
    counted += f" {format_count(len(found.workflows), 'workflow')}"
    printer.result(
        f"# {counted} proposed{f'; {unshown:,} others are not shown' if unshown else ''}"
    )
    if found.merged:
        printer.result("# Merging is a major change for clients: the merged tools are not listed.")
    for key in ("merged", "workflows"):
        for line in spell_proposals(found, key):
            printer.result(line)
    return printer.finish(Outcome.DONE)


def _as_json(explained: Setting) -> dict[str, Any]:
    at = explained.at
    return {
        "setting": explained.setting,
        "value": explained.value,
        "from": explained.source,
        "file": at.file if at else None,
        "line": (at.line or None) if at else None,
        "entry": explained.entry or None,
        "rule": explained.rule or None,
        "evidence": explained.evidence or None,
    }


def _source(explained: Setting) -> str:
    if explained.rule:
        return f"rule {explained.rule}: {visible(explained.evidence)}"
    if explained.at is None:
        return explained.source
    place = f"{explained.at.file}:{explained.at.line}" if explained.at.line else explained.at.file
    return f"{visible(place)} (`{visible(explained.entry)}`)" if explained.entry else visible(place)


def _format_value(value: Any) -> str:
    if value in (None, "", []):
        return "-"
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"
