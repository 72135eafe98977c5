"""Checks between the sources of a project: missing files, equal names, shared secrets."""

from __future__ import annotations

from collections.abc import Sequence

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.api import Api
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.inputs import Inputs
from mcpgen.pipeline.project.sources import Source


def check_source_files(inputs: Inputs, problems: Problems) -> None:
    """Check that every file of the sources exists, except the documents that are loaded already.

    Raises:
        RejectedError: a file is missing; the problem names its entry in the manifest.
    """
    loaded = {*inputs.documents, *inputs.parsed}
    missing = {
        tokens: path
        for tokens, path in inputs.manifest.manifest.source_files.items()
        if not (tokens[-1] == "document" and path in loaded) and not (inputs.folder / path).exists()
    }
    for tokens, path in missing.items():
        problems.error(
            "unreadable",
            f"`{path}` is missing",
            at=inputs.manifest.locate(tokens),
            why="the manifest names it, and tools are generated from it",
            help="correct the path, or restore the file from version control",
        )
    if missing:
        raise RejectedError


def check_names(
    apis: Sequence[Api], sources: Sequence[Source], intent: LocatedManifest, problems: Problems
) -> None:
    """Check that no schema or security scheme of one source has the name of another source's.

    Raises:
        RejectedError: a document declares `rail.Trip`, and the source `rail` has `Trip`.
    """
    seen: dict[str, int] = {}
    for number, api in enumerate(apis):
        for name in sorted({*api.schemas, *(scheme.id for scheme in api.security_schemes)}):
            first = seen.setdefault(name, number)
            if first == number:
                continue
            named = number if sources[number].name else first
            problems.error(
                "source-name",
                f"the name `{sources[named].name}` makes two different things `{name}`",
                at=intent.locate(("sources", str(named))),
                why="a request would be checked, or authorized, as one of another API",
                help="give this source another `name`",
            )
            raise RejectedError


def check_schemes(apis: Sequence[Api], intent: LocatedManifest, problems: Problems) -> None:
    """Check that a document and the manifest declare no security scheme of the same name.

    Raises:
        RejectedError: both declare a scheme of this name.
    """
    described = {scheme.id for api in apis for scheme in api.security_schemes}
    taken = sorted(described & intent.manifest.security_schemes.keys())
    for name in taken:
        problems.error(
            "security-scheme",
            f"duplicate security scheme `{name}`: the document declares it too",
            at=intent.locate(("security_schemes", name)),
            why="one credential would be sent to two APIs",
            help="rename this one",
        )
    if taken:
        raise RejectedError


def check_shared_secrets(plan: ServerPlan, problems: Problems) -> None:
    """Check that no entry for many operations sends one secret to several APIs.

    Raises:
        RejectedError: one does.
    """
    sources: dict[tuple[Location, str], set[str]] = {}
    for tool in plan.tools:
        for setting in (fixed.setting for fixed in tool.fixed if not fixed.is_default_header):
            if setting is not None and setting.secret:
                sources.setdefault((setting.at, setting.name), set()).add(tool.operation.source)
    shared = [entry for entry, names in sources.items() if len(names) > 1]
    for at, name in shared:
        problems.error(
            "secret-shared",
            f"`{name}` would send a secret to several APIs",
            at=at,
            why="the entry covers operations of several sources",
            help="state it for single operations, or declare it under `security_schemes` and"
            " `security` of its source",
        )
    if shared:
        raise RejectedError
