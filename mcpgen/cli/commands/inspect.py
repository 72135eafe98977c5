"""`mcpgen inspect`: the MCP Inspector, started against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Env, Header, Live, TokenFrom, command
from mcpgen.cli.output.report import Printer
from mcpgen.cli.targets import find_target

if TYPE_CHECKING:
    from typer._click import Context

_ARGUMENTS = "mcpgen.inspector_arguments"
_FALLBACK = "`mcpgen explore`, `mcpgen tools` and `mcpgen call` need no Node"


class _InspectCommand(TyperCommand):
    """A command whose words after `--` are for another program."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGUMENTS OF THE INSPECTOR]"]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("inspect", cls=_InspectCommand)(command(inspect))


def inspect(
    printer: Printer,
    context: typer.Context,
    server: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SERVER]",
            help="The folder of a package, a URL, or a command (in quotes if it has options).",
        ),
    ] = None,
    *,
    web: Annotated[
        bool,
        typer.Option(
            "--web/--cli", help="Open the Inspector in the browser, or run one of its methods."
        ),
    ] = True,
    live: Live = False,
    header: Header = None,
    env: Env = None,
    token_from: TokenFrom = "",
) -> int:
    """Start the MCP Inspector against a server.

    Words after `--` are arguments of the Inspector.
    """
    import asyncio  # these cost the help too much

    from mcpgen.factory.inspector import InspectorError, configure, find_inspector, run_inspector

    arguments = list(context.meta[_ARGUMENTS])
    if printer.as_json:
        if web:
            raise UsageError(
                "--json needs --cli", help="the Inspector in the browser prints no result"
            )
        arguments += ["--format", "json"]
    target = find_target(server, header=header, env=env, token_from=token_from)
    try:
        with printer.progress() as progress:
            program = find_inspector(progress)
    except InspectorError as error:
        raise UsageError(str(error), help=f"{error.help}; {_FALLBACK}") from None

    async def start() -> int:
        async with configure(target, is_live=live) as path:
            return await run_inspector(
                program, path, arguments, is_web=web, opens_browser=not printer.is_unattended
            )

    return asyncio.run(start())
