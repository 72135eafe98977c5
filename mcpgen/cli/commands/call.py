"""`mcpgen call`: one call of one tool, and its result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.arguments import TypedArguments
from mcpgen.cli.completion_values import list_tools
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Revision, Server, command
from mcpgen.cli.output.calls import content_text, iterate_request_lines
from mcpgen.cli.output.report import Printer
from mcpgen.cli.targets import connect, converse, find_target, log_about, report_refusal
from mcpgen.diagnostics import did_you_mean
from mcpgen.factory.mock_api import serve_mock_api
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.wire.targets import Target
    from mcpgen.testing import MockUpstream


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("call")(command(call, has_json_flag=False))


def call(
    printer: Printer,
    tool: Annotated[
        str, typer.Argument(metavar="TOOL", help="The name of the tool.", autocompletion=list_tools)
    ],
    server: Server = None,
    *,
    arg: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An argument of the tool; repeatable."),
    ] = None,
    json_arguments: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="OBJECT",
            help="All arguments as a JSON object; also prints the result as JSON.",
        ),
    ] = None,
    mock: Annotated[
        bool, typer.Option("--mock", help="Call a mock of the API instead of the API.")
    ] = False,
    revision: Revision = "2025-11-25",
) -> int:
    """Call a tool of a server."""
    printer.as_json = json_arguments is not None
    typed = TypedArguments(tuple(arg or ()), json_arguments)
    return converse(printer, _call(printer, server or (), tool, typed, revision, is_mocked=mock))


async def _call(
    printer: Printer,
    server: Sequence[str],
    tool: str,
    typed: TypedArguments,
    revision: str,
    *,
    is_mocked: bool,
) -> int:
    from mcpgen.testing.client.client import RpcError

    target = find_target(server)
    result: JsonObject | RpcError
    async with _start_mock(target, is_mocked=is_mocked) as (upstream, started):
        async with connect(started, revision) as client:
            known = await client.list_tools()
            if target.package is not None:
                known += target.package.list_unlisted_tools()
            arguments = typed.convert(input_schema(known, tool))
            try:
                result = await client.call_tool(tool, arguments)
            except RpcError as error:
                result = error
        if upstream is not None:
            _show_requests(printer, upstream)
    if isinstance(result, RpcError):
        reference = (result.data or {}).get("correlationId", "")
        return report_refusal(printer, result, log_about(client, reference))
    log = log_about(client, result.get("_meta", {}).get("mcpgen/reference", ""))
    return _show_result(printer, tool, result, log)


@asynccontextmanager
async def _start_mock(
    target: Target, *, is_mocked: bool
) -> AsyncIterator[tuple[MockUpstream | None, Target]]:
    """Serve a mock of the server's API if requested; yield it and the server to start."""
    if not is_mocked:
        yield None, target
        return
    if target.package is None:
        raise UsageError("--mock needs the folder of a package that `mcpgen new` made")
    async with serve_mock_api(target.package) as (upstream, settings):
        yield upstream, target.for_mock(settings)


def input_schema(listed: Sequence[JsonObject], tool: str) -> JsonObject:
    """Return the input schema of a listed tool.

    Raises:
        UsageError: it is not listed.
    """
    for candidate in listed:
        if candidate["name"] == tool:
            schema: JsonObject = candidate["inputSchema"]
            return schema
    names = [candidate["name"] for candidate in listed]
    hint = did_you_mean(tool, names, "`mcpgen tools` lists what it has")
    raise UsageError(f"the server has no tool `{tool}`", help=hint)


def _show_requests(printer: Printer, upstream: MockUpstream) -> None:
    """Print the requests that reached the mock of the API, and what is wrong with them."""
    printer.fact(
        requests=[
            {
                "method": request.method,
                "url": request.url,
                "headers": [list(header) for header in request.headers],
                "body": request.body.decode("utf-8", "replace"),
                "status": request.response.status,
                "problems": list(request.problems),
            }
            for request in upstream.requests
        ]
    )
    for request in upstream.requests:
        for line in iterate_request_lines(request):
            printer.result(line)
        printer.result(f"< {request.response.status}")


def _show_result(printer: Printer, tool: str, result: JsonObject, log: str) -> int:
    """Print a tool's result and return the exit code: 1 if the call failed."""
    printer.fact(result=result)
    for content in result.get("content", ()):
        printer.raw(f"{content_text(content)}\n")
    if result.get("isError"):
        printer.error("tool-error", f"`{tool}` returned an error")
        printer.log(log)
        return printer.finish(Outcome.FINDINGS, "tool-error")
    return printer.finish(Outcome.DONE)
