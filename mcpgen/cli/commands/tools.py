"""`mcpgen tools`: list the tools of a server and their token costs, or explain one tool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Revision, Server
from mcpgen.cli.output.report import Printer, format_count
from mcpgen.cli.output.summary import collect_listing_facts, instead
from mcpgen.cli.output.visible import visible
from mcpgen.cli.targets import connect, converse, find_target
from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.explain import Setting


def tools(
    printer: Printer,
    server: Server = None,
    *,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Show the estimated number of tokens of each tool.")
    ] = False,
    explain: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="TOOL",
            help="Show the settings of a tool, each with the file and line that decides it.",
        ),
    ] = "",
    revision: Revision = "2025-11-25",
) -> int:
    """List the tools of a server."""
    if explain:
        return explain_tool(printer, server or (), explain)
    return converse(printer, _show_tools(printer, server or (), revision, with_tokens=tokens))


async def _show_tools(
    printer: Printer, server: Sequence[str], revision: str, *, with_tokens: bool
) -> int:
    target = find_target(server)
    async with connect(target, revision) as client:
        listed = await client.list_tools()
    printer.fact(tools=listed, token_cost=sum(map(token_cost, listed)))
    unlisted = [] if target.package is None else _find_unlisted(target.package, listed)
    _show(printer, [*listed, *unlisted] if with_tokens else listed, with_tokens=with_tokens)
    total = _describe_listing(printer, listed, target.package) if with_tokens else ""
    printer.result(f"{format_count(len(listed), 'tool')}{total}")
    if target.package is not None and unlisted:
        are_found = any(tool["name"] in target.package.search_tools for tool in listed)
        printer.result(
            f"{format_count(len(unlisted), 'other tool')} can be"
            f" {'searched for and called' if are_found else 'called'}"
        )
    return printer.finish(Outcome.DONE)


def _show(printer: Printer, shown: Sequence[JsonObject], *, with_tokens: bool) -> None:
    width = max((len(tool["name"]) for tool in shown), default=0)
    for tool in shown:
        price = f"{token_cost(tool):>7,}  " if with_tokens else ""
        printer.result(f"{price}{visible(tool['name']):<{width}}  {title(tool)}".rstrip())


def _find_unlisted(package: GeneratedPackage, listed: Sequence[JsonObject]) -> list[JsonObject]:
    names = {tool["name"] for tool in listed}
    return [tool for tool in package.read_tools() if tool["name"] not in names]


def _describe_listing(
    printer: Printer, listed: Sequence[JsonObject], package: GeneratedPackage | None
) -> str:
    """Describe the cost of the list and, for a generated package, how it meets its budget."""
    cost = sum(map(token_cost, listed))
    told = f"; listing them costs about {cost:,} tokens"
    if package is None:
        return told
    budget, all_tools = _read_budget(package), sum(map(token_cost, package.read_tools()))
    printer.fact(listing=collect_listing_facts(budget, all_tools, cost, package.search_tools))
    if package.search_tools:
        return f"{told}; {instead(budget, all_tools, package.search_tools)}"
    return told if budget is None else f"{told} of a budget of {budget:,}"


def _read_budget(package: GeneratedPackage) -> int | None:
    """What the manifest allows; None where there is none to be read, of which others tell."""
    from mcpgen.pipeline.project.read_inputs import read_intent

    try:
        return read_intent(package.directory, Problems()).manifest.budget
    except RejectedError:
        return None


def title(tool: JsonObject) -> str:
    """Give what a tool is called for people, or else how its description begins."""
    annotated = tool.get("annotations", {}).get("title")
    text = tool.get("title") or annotated or tool.get("description", "").partition("\n")[0]
    return visible(text)


def token_cost(tool: JsonObject) -> int:
    """Estimate the tokens of a listed tool: a quarter of the bytes of its JSON, rounded up."""
    listed = json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
    return -(-len(listed.encode()) // 4)


_MAX_VALUE = 60


def explain_tool(printer: Printer, server: Sequence[str], name: str) -> int:
    """Print each setting of a tool with its value and its source.

    Raises:
        UsageError: the server is no folder that mcpgen made, or has no such tool.
    """
    from mcpgen.factory.explain import ExplainedTool, explain

    package = find_target(server).package
    if package is None:
        raise UsageError("--explain needs the folder of a server that mcpgen generated")
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


def _as_json(explained: Setting) -> dict[str, Any]:
    at = explained.at
    return {
        "setting": explained.setting,
        "value": explained.value,
        "from": explained.source,
        "file": at.file if at else None,
        "line": (at.line or None) if at else None,
        "entry": explained.entry or None,
    }


def _source(explained: Setting) -> str:
    if explained.at is None:
        return explained.source
    place = f"{explained.at.file}:{explained.at.line}" if explained.at.line else explained.at.file
    return f"{visible(place)} (`{visible(explained.entry)}`)" if explained.entry else visible(place)


def _format_value(value: Any) -> str:
    if value in (None, "", []):
        return "-"
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"
