"""`mcpgen mock`: the API that a package's document describes, answering from its examples."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from mcpgen.cli.exit_codes import ExitCode
from mcpgen.cli.packages import find_package
from mcpgen.cli.report import Printer


def mock(
    printer: Printer,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A package that `mcpgen new` made.")
    ] = Path(),
    *,
    port: Annotated[
        int, typer.Option(help="Where on 127.0.0.1 to listen; 0 takes a free port.", min=0)
    ] = 0,
) -> int:
    """Serve a stand-in for the API that judges each request by the document."""
    package = find_package(directory)
    import asyncio  # costs `mcpgen check` too much

    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(_serve(printer, package.upstream(), package.base_url_variable, port))
    return ExitCode.DONE


async def _serve(printer: Printer, upstream: dict[str, Any], variable: str, port: int) -> int:
    import asyncio

    from mcpgen.runtime.testing import MockUpstream

    mock_upstream = MockUpstream(upstream)
    try:
        base_url = await mock_upstream.start(port)
    except OSError as error:
        printer.error("port-taken", f"127.0.0.1:{port} cannot be listened on: {error.strerror}")
        return printer.finish("findings", ExitCode.FINDINGS)
    printer.fact(base_url=base_url)
    printer.result(f"{variable}={base_url}")
    printer.finish("serving", ExitCode.DONE)
    await asyncio.Event().wait()
    return ExitCode.DONE
