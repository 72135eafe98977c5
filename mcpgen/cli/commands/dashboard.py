"""`mcpgen dashboard`: the state of all servers as one HTML file."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.pipeline.options import Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.status.model import Fleet

DASHBOARD_FILE = "mcpgen-dashboard.html"
_HEAD_BYTES = 1000  # of a dashboard, in which its mark is


def dashboard(
    printer: Printer,
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The folder of a workspace, or of one server.", show_default=False
        ),
    ] = Path(),
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"The HTML file to write. By default {DASHBOARD_FILE} in DIR; nothing with"
            " --json or --serve.",
        ),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Serve the dashboard on 127.0.0.1, examined per request."),
    ] = False,
    port: Annotated[
        int,
        typer.Option(help="The port of --serve; 0 selects a free one.", min=0, max=65_535),
    ] = 0,
) -> int:
    """Write the state of all servers into one HTML file, from evidence alone.

    In the folder of a server it shows that server. The file loads nothing, and links to the
    evidence in the folders of the servers.
    """
    from mcpgen.factory.dashboard.collect import collect, find_root

    if not directory.is_dir():
        raise UsageError(f"there is no folder {directory}")
    if serve and out is not None:
        raise UsageError("--serve writes no file", help="leave out --out or --serve")
    if serve:
        return _serve(printer, directory, find_root(directory), port)
    if out is None and not printer.as_json:
        out = directory / DASHBOARD_FILE
    if out is not None:
        _check_file(out)
    with printer.progress() as progress:
        progress("examining the servers")
        fleet = collect(directory, datetime.now(UTC))
    _add_facts(printer, fleet)
    if out is not None:
        _write(out, fleet, find_root(directory))
        printer.fact(written=out.as_posix())
        number = format_count(len(fleet.servers), "server")
        printer.result(f"{visible(out.as_posix())} written, with {number}")
    return printer.finish(Outcome.DONE)


def _add_facts(printer: Printer, fleet: Fleet) -> None:
    if printer.as_json:
        import msgspec

        printer.fact(**msgspec.to_builtins(fleet))


def _check_file(path: Path) -> None:
    """Refuse to overwrite a file that is no dashboard."""
    from mcpgen.factory.dashboard.page import MARK

    try:
        with path.open("rb") as file:
            is_dashboard = MARK.encode() in file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    if not is_dashboard:
        raise UsageError(
            f"{path} exists, and is no dashboard", help="name another file with --out, or delete it"
        )


def _write(path: Path, fleet: Fleet, root: Path) -> None:
    from mcpgen.factory.dashboard.page import make_page
    from mcpgen.pipeline.project.disk import write_atomically

    file = path.resolve()
    try:
        base = Path(os.path.relpath(root, file.parent)).as_posix()
    except ValueError:  # on Windows
        raise UsageError(
            f"{path} is on another drive than the workspace, to which the page links",
            help="name a file on the same drive with --out",
        ) from None
    page = make_page(fleet, "" if base == "." else f"{base}/")
    try:
        write_atomically(file, page.encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _serve(printer: Printer, directory: Path, root: Path, port: int) -> int:
    from mcpgen.factory.dashboard.collect import collect
    from mcpgen.factory.dashboard.serve import DATA_PATH, DashboardServer

    def examine() -> Fleet:
        return collect(directory, datetime.now(UTC))

    examine()  # so that a wrong folder is reported at once
    try:
        server = DashboardServer(examine, root, port)
    except OSError as error:
        printer.error("port-taken", f"cannot listen on 127.0.0.1:{port}: {error.strerror}")
        return printer.finish(Outcome.FINDINGS)
    with server:
        printer.fact(url=server.url, data=server.url.rstrip("/") + DATA_PATH)
        printer.result(f"{server.url} shows the dashboard, until Ctrl-C")
        code = printer.finish(Outcome.DONE, "serving")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return code
