"""`mcpgen bundle`: a server in the formats of clients, catalogues and the MCP registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import BundleFormats, Directory, DryRun, SourceCommit, StartToBundle
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Problems
from mcpgen.pipeline.options import Outcome
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.factory.bundle.run import BundleOptions

_REGISTRY = "The MCP registry"


def bundle(
    printer: Printer,
    directory: Directory = Path(),
    *,
    formats: BundleFormats = "all",
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
    source_commit: SourceCommit = "",
    start: StartToBundle = False,
    dry_run: DryRun = False,
    check_published: Annotated[
        bool,
        typer.Option(
            "--check-published",
            help="Build nothing; ask the MCP registry which version it has, and record it.",
            rich_help_panel=_REGISTRY,
        ),
    ] = False,
    registry: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The registry to ask. By default, the official one.",
            rich_help_panel=_REGISTRY,
        ),
    ] = "",
) -> int:
    """Build the bundles of a server package: .mcpb, plugins, catalogue entries.

    The same package gives the same bytes. Bundles contain no values of settings. What was built is
    recorded as evidence.
    """
    if check_published:
        return _compare_with_registry(printer, directory, registry)
    if registry:
        raise UsageError("--registry is for --check-published")
    from mcpgen.factory.bundle.run import OutError, bundle_package
    from mcpgen.factory.packages import find_package

    options = choose_options(
        formats, public_url=public_url, source_commit=source_commit, start=start, dry_run=dry_run
    )
    package = find_package(directory)
    problems = Problems()
    try:
        run = bundle_package(package, out or directory / "dist", options, problems)
    except OutError as error:
        raise UsageError(str(error), help=error.help) from None
    printer.problems(problems)
    if run.description is None:
        return printer.finish(run.outcome)
    printer.fact(
        server=run.description.name,
        version=run.description.version,
        out=str(run.out),
        written=not dry_run,
        tools=[tool.name for tool in run.description.tools],
        **run.collect_facts(),
    )
    done = "would write" if dry_run else "wrote"
    for each in run.bundles:
        inside = (
            f"{len(each.content):,} bytes"
            if isinstance(each.content, bytes)
            else format_count(len(each.content), "file")
        )
        printer.result(f"{done} {run.out / each.path} ({inside})")
    return printer.finish(Outcome.DONE)


def _compare_with_registry(printer: Printer, directory: Path, registry: str) -> int:
    """Compare the version in the registry with that of the package, and record it."""
    from mcpgen.factory.bundle.evidence import collect_published_evidence
    from mcpgen.factory.bundle.published import (
        OFFICIAL_REGISTRY,
        UnusableRegistryError,
        find_published,
        read_local_server,
    )
    from mcpgen.factory.packages import find_package
    from mcpgen.pipeline.project.evidence import PUBLISHED, record_evidence

    local = read_local_server(find_package(directory).directory)
    if not local.name or not local.version:
        missing = "version" if local.name else "name in `server.json`"
        raise UsageError(
            f"{directory} has no {missing}", help="`mcpgen bundle` checks what the registry needs"
        )
    registry_url = registry or OFFICIAL_REGISTRY
    try:
        with printer.progress() as progress:
            progress("asking the registry")
            found = find_published(registry_url, local.name)
    except UnusableRegistryError as error:
        printer.error(
            "unusable-registry",
            f"the registry cannot be asked: {error}",
            help="check --registry and the network, and try again",
        )
        return printer.finish(Outcome.FINDINGS, "unreachable")
    evidence = collect_published_evidence(local, found)
    problems = Problems()
    record_evidence(directory, PUBLISHED, evidence, problems)
    printer.problems(problems)
    is_same = evidence["outcome"] == "passed"
    printer.fact(
        server=local.name,
        version=local.version,
        registry=found.registry,
        published=found.version or None,
        status=found.status or None,
        published_at=found.published_at or None,
    )
    printer.result(f"{visible(local.name)}: {visible(evidence['result'])}")
    outcome = Outcome.DONE if is_same else Outcome.FINDINGS
    return printer.finish(outcome, "published" if is_same else "not-published")


def choose_options(
    formats: str,
    *,
    public_url: str = "",
    source_commit: str = "",
    start: bool = False,
    dry_run: bool = False,
) -> BundleOptions:
    """Return the options of a run.

    Raises:
        UsageError: a format is unknown.
    """
    from mcpgen.factory.bundle.run import BundleOptions, FormatError, parse_formats

    try:
        chosen = parse_formats(formats)
    except FormatError as error:
        raise UsageError(str(error), help=error.help) from None
    return BundleOptions(
        formats=chosen,
        public_url=public_url,
        source_commit=source_commit,
        is_started=start,
        is_dry_run=dry_run,
    )
