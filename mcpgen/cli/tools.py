"""`mcpgen tools`: what a server offers to a model, and what the offer costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from mcpgen.cli.conversation import Revision, Words, converse
from mcpgen.cli.exit_codes import ExitCode
from mcpgen.cli.report import Printer, counted, visible
from mcpgen.cli.targets import connected, find_target
from mcpgen.runtime.content import JsonObject


def tools(
    printer: Printer,
    server: Words = None,
    *,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Show about how many tokens each tool costs.")
    ] = False,
    revision: Revision = "2025-11-25",
) -> int:
    """List the tools of a server."""

    return converse(printer, _show_tools(printer, server or (), revision, with_tokens=tokens))


async def _show_tools(
    printer: Printer, server: Sequence[str], revision: str, *, with_tokens: bool
) -> int:
    async with connected(find_target(server), revision) as client:
        listed = await client.list_tools()
    costs = [token_cost(tool) for tool in listed]
    printer.fact(tools=listed, token_cost=sum(costs))
    width = max((len(tool["name"]) for tool in listed), default=0)
    for tool, cost in zip(listed, costs, strict=True):
        price = f"{cost:>7,}  " if with_tokens else ""
        printer.result(f"{price}{visible(tool['name']):<{width}}  {title(tool)}".rstrip())
    total = f"; listing them costs about {sum(costs):,} tokens" if with_tokens else ""
    printer.result(f"{counted(len(listed), 'tool')}{total}")
    return printer.finish("done", ExitCode.DONE)


def title(tool: JsonObject) -> str:
    """Give what a tool is called for people, or else how its description begins."""
    annotated = tool.get("annotations", {}).get("title")
    text = tool.get("title") or annotated or tool.get("description", "").partition("\n")[0]
    return visible(text)


def token_cost(tool: JsonObject) -> int:
    """Estimate the tokens of a listed tool: a quarter of the bytes of its JSON, rounded up."""
    listed = json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
    return -(-len(listed.encode()) // 4)
