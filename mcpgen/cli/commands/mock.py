"""`mcpgen mock`: the API that a package's document describes, answering from its examples."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import EXIT_CODES
from mcpgen.cli.options import Directory
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.factory.packages import GeneratedPackage, find_package
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.testing.mock.stateful import StatefulApi


def mock(
    printer: Printer,
    directory: Directory = Path(),
    *,
    port: Annotated[
        int, typer.Option(help="The port to listen on at 127.0.0.1; 0 selects a free one.", min=0)
    ] = 0,
    stateful: Annotated[
        bool,
        typer.Option(
            "--stateful",
            help="Keep created items and forget deleted ones, where the document allows it.",
        ),
    ] = False,
) -> int:
    """Serve a mock of the API that checks each request against the document."""
    package = find_package(directory)
    import asyncio  # costs `mcpgen check` too much

    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(_serve(printer, package, port, stateful=stateful))
    return EXIT_CODES[Outcome.DONE]


async def _serve(printer: Printer, package: GeneratedPackage, port: int, *, stateful: bool) -> int:
    import asyncio

    from mcpgen.testing import MockUpstream

    mock_upstream = MockUpstream(package.upstream(), stateful=stateful)
    try:
        base_url = await mock_upstream.start(port)
    except OSError as error:
        printer.error("port-taken", f"cannot listen on 127.0.0.1:{port}: {error.strerror}")
        return printer.finish(Outcome.FINDINGS)
    printer.fact(base_url=base_url)
    for variable, url in package.base_urls(base_url).items():
        printer.result(f"{variable}={url}")
    if mock_upstream.state is not None:
        _show_state(printer, mock_upstream.state)
    exit_code = printer.finish(Outcome.DONE, "serving")
    await asyncio.Event().wait()
    return exit_code


def _show_state(printer: Printer, state: StatefulApi) -> None:
    printer.fact(
        stateful=[
            {"path": it.path, "item_path": it.item_path, "id": it.item.id_property}
            for it in state.collections
        ],
        not_stateful=[{"path": path, "reason": why} for path, why in state.skipped.items()],
    )
    for it in state.collections:
        name = visible(it.item.id_property)
        printer.result(f"remembered: {visible(it.path)}, each by its `{name}`")
    for path, why in state.skipped.items():
        printer.result(f"not remembered: {visible(path)}: {why}")
