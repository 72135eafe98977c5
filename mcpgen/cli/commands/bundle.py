"""`mcpgen bundle`: a server in the formats of clients, catalogues and the MCP registry."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Directory, DryRun
from mcpgen.cli.output.report import Printer, format_count
from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.bundle.description import Bundle


def bundle(
    printer: Printer,
    directory: Directory = Path(),
    *,
    formats: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="A,B",
            help="`all`, or some of mcpb, plugin, claude-plugin, docker and server-json.",
        ),
    ] = "all",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write. By default, `dist/` of the package."),
    ] = None,
    public_url: Annotated[
        str,
        typer.Option(
            metavar="URL", help="The MCP endpoint of a deployed server, for `server.json`."
        ),
    ] = "",
    source_commit: Annotated[
        str,
        typer.Option(metavar="SHA", help="The commit that Docker's catalogue builds from."),
    ] = "",
    start: Annotated[
        bool,
        typer.Option("--start", help="Start the server, to list its hand-written tools too."),
    ] = False,
    dry_run: DryRun = False,
) -> int:
    """Build the bundles of a server package: .mcpb, plugins, catalogue entries.

    The same package gives the same bytes. Bundles contain no values of settings.
    """
    from mcpgen.factory.bundle.build import build_bundles, write_bundles
    from mcpgen.factory.bundle.describe import describe_server
    from mcpgen.factory.bundle.started import list_tools
    from mcpgen.factory.lint.load import load_package
    from mcpgen.factory.packages import find_package

    chosen = _choose_formats(formats)
    package = find_package(directory)
    target = out or directory / "dist"
    _check_target(target, directory)
    problems = Problems()
    listing = list_tools(package) if start else load_package(package)
    if listing is None:
        printer.error(
            "no-tools-listed",
            "the server does not start, or does not list its tools",
            help="`mcpgen tools` shows why; without --start, the files of the package are read",
        )
        return printer.finish(Outcome.FINDINGS)
    try:
        description = describe_server(
            package, listing, problems, public_url=public_url, source_commit=source_commit
        )
    except RejectedError:
        printer.problems(problems)
        return printer.finish(Outcome.REJECTED)
    printer.problems(problems)
    built = build_bundles(description, chosen)
    if not dry_run:
        try:
            write_bundles(target, built)
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(
                f"{error.filename} is a file, where bundles need a folder",
                help="move it away, or give another folder: --out dist",
            ) from None
    printer.fact(
        server=description.name,
        version=description.version,
        out=str(target),
        written=not dry_run,
        tools=[tool.name for tool in description.tools],
        bundles=[_describe(each) for each in built],
    )
    done = "would write" if dry_run else "wrote"
    for each in built:
        inside = (
            f"{len(each.content):,} bytes"
            if isinstance(each.content, bytes)
            else format_count(len(each.content), "file")
        )
        printer.result(f"{done} {target / each.path} ({inside})")
    return printer.finish(Outcome.DONE)


def _choose_formats(text: str) -> list[str]:
    """Return the formats that an option names, in their fixed order."""
    from mcpgen.factory.bundle.build import FORMATS

    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names or [""]:
        if name != "all" and name not in FORMATS:
            known = ["all", *FORMATS]
            hint = did_you_mean(name, known, f"one of {', '.join(known)}")
            raise UsageError(f"unknown format `{name}`", help=hint)
    return [name for name in FORMATS if "all" in names or name in names]


def _check_target(target: Path, directory: Path) -> None:
    """Reject a place where a bundle would be part of the package."""
    place, root = target.resolve(), directory.resolve()
    if place == root or place.is_relative_to(root / "src"):
        raise UsageError(
            f"cannot write bundles into {target}, which belongs to the package",
            help="give another folder: --out dist",
        )
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is not a folder", help="give another folder: --out dist")


def _describe(built: Bundle) -> dict[str, object]:
    described: dict[str, object] = {"format": built.format, "path": built.path}
    if isinstance(built.content, bytes):
        return described | {"sha256": hashlib.sha256(built.content).hexdigest()}
    return described | {"files": sorted(built.content)}
