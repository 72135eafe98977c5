"""`mcpgen explore`: a terminal view of a server, its tools and calls of them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mcpgen.cli.exit_codes import EXIT_CODES, UsageError
from mcpgen.cli.options import Env, Header, Live, Server, TokenFrom
from mcpgen.cli.output.report import Printer
from mcpgen.cli.targets import find_target
from mcpgen.contract.extras import MissingExtraError, is_installed
from mcpgen.pipeline.options import Outcome


def explore(
    printer: Printer,
    server: Server = None,
    *,
    live: Live = False,
    revision: Annotated[
        str,
        typer.Option(
            metavar="DATE", help="The MCP revision; by default, one that the server knows."
        ),
    ] = "",
    header: Header = None,
    env: Env = None,
    token_from: TokenFrom = "",
) -> int:
    """Show the tools of a server in the terminal, and call them with forms."""
    if printer.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "`mcpgen explore` needs a terminal", help="`mcpgen tools` and `mcpgen call` do not"
        )
    if not is_installed("explore"):
        raise UsageError(str(MissingExtraError("explore")))
    target = find_target(server, header=header, env=env, token_from=token_from)

    import asyncio  # these cost the help too much

    from mcpgen.cli.explore.app import ExploreApp
    from mcpgen.factory.explore.explorer import Explorer

    async def show() -> None:
        explorer = Explorer(target, revision=revision, is_live=live)
        try:
            await ExploreApp(explorer).run_async()
        finally:
            await explorer.stop()

    asyncio.run(show())
    return EXIT_CODES[Outcome.DONE]
