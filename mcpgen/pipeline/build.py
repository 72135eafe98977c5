"""The pipeline: from the inputs of a project to all of its files, in memory.

    load -> resolve -> validate -> lower -> plan -> render -> format

`new`, `generate`, `override` and `source add` create `Inputs` in different ways and call `build`;
`pull` and `changelog` need no files and stop after `plan_project`. `check` builds nothing: it
compares the hashes of inputs and files with the lock of the last build.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.lockfile import Lock, by_operation_key, with_lf
from mcpgen.emit.skeleton import prepare_skeleton
from mcpgen.forked import ForkedAhead
from mcpgen.garbage import pause_garbage_collection
from mcpgen.ir.api import Api, Server
from mcpgen.ir.credentials import HiddenCredential
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import FileSet
from mcpgen.ir.listing_form import NEW_SERVERS, ListingForm
from mcpgen.ir.manifest import Manifest, SourceEntry
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.arazzo import ArazzoDocuments
from mcpgen.manifest.credential_sources import with_credential_sources
from mcpgen.manifest.declared_tools import lower_declared
from mcpgen.manifest.source_security import with_source_security
from mcpgen.manifest.typed_file import TypedFile
from mcpgen.manifest.workflows import read_workflows
from mcpgen.openapi.lower.join import join_apis, qualify_names
from mcpgen.openapi.source.source_file import read_bytes
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS
from mcpgen.openapi.source.urls import is_url
from mcpgen.openapi.validate.validate import MAX_VALIDATED_BYTES
from mcpgen.pipeline.found import describe_document
from mcpgen.pipeline.inputs import FirstManifest, InputFiles, Inputs, PlannedProject, Project
from mcpgen.pipeline.options import (
    BuildOptions,
    Outcome,
    Progress,
    StageNote,
    StoppedError,
    count_operations,
)
from mcpgen.pipeline.parse import (
    ParsedDocument,
    load_source,
    parse_document,
)
from mcpgen.pipeline.project import credentials
from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.project.sources import Source, identify_sources
from mcpgen.pipeline.render import render_project
from mcpgen.pipeline.skeleton_run import skeleton_cache
from mcpgen.pipeline.source_checks import (
    check_names,
    check_schemes,
    check_shared_secrets,
    check_source_files,
)
from mcpgen.plan.arguments.credentials import find_hidden_credentials, report_destinations
from mcpgen.plan.naming.published_paths import with_published_paths
from mcpgen.plan.plan import plan_by_hand, plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.declared import with_declared
from mcpgen.plan.tools.targets import check_targets
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.manifest.overlay import OverlayFile

# `new` and `pull` run openapi-spec-validator on larger documents; `generate` would spend most of
# its time on it at each change of the document.
_REVALIDATED_BYTES: Final = 256 * 1024


def build(
    inputs: Inputs,
    problems: Problems,
    progress: Progress,
    skeleton: ForkedAhead[FileSet] | None = None,
) -> Project:
    """Build every file of a project except its lock.

    `skeleton` is the result of an earlier `prepare_skeleton`, which the caller ends.

    Raises:
        RejectedError: the project cannot be built; `problems` contains the reason.
        StoppedError: an option of `new` is invalid.
    """
    is_likely = not skeleton_cache(inputs.options, inputs.folder).exists
    with nullcontext(skeleton) if skeleton else prepare_skeleton(is_likely=is_likely) as prepared:
        planned = plan_project(inputs, problems, progress)
        return render_project(planned, inputs, problems, progress, prepared)


def plan_project(inputs: Inputs, problems: Problems, progress: Progress) -> PlannedProject:
    """Run the stages up to the plan: load, resolve, validate, lower and plan.

    Raises:
        RejectedError: the server cannot be planned; `problems` contains the reason.
        StoppedError: an option of `new` is invalid.
    """
    located = inputs.manifest
    manifest = located.manifest
    if not manifest.sources and not manifest.tools:
        plan = replace(plan_by_hand(manifest), form=decide_form(manifest, inputs.lock))
        plan = _add_declared(plan, inputs, problems)
        return PlannedProject(plan, InputFiles())
    check_source_files(inputs, problems)
    sources = identify_sources(located, inputs.lock, problems)
    overlays: dict[str, bytes] = {}
    parsed = [_parse(source, inputs, overlays, problems, progress) for source in sources]
    api = _join_sources(sources, parsed, inputs, problems)
    progress("plan")
    policy = _read_policy(sources, inputs, problems)
    api = with_published_paths(api, {*policy.issued_names, *inputs.lock.left_out})
    plan = plan_server(api, policy, problems, progress, strict=inputs.options.strict)
    decided: tuple[HiddenCredential, ...] = ()
    if inputs.first is not None:
        plan, decided = _decide_credentials(
            plan, api, policy, inputs, inputs.first, problems, progress
        )
    progress(StageNote(format_count(plan.tool_count, "tool")))
    check_shared_secrets(plan, problems)
    report_destinations(plan, problems)
    if inputs.first is None:
        credentials.report_hidden(plan, {each.name: each.entry for each in sources}, problems)
    files = InputFiles(
        tuple(
            (lay_out_document(source.entry.document, each.document), source.origin)
            for source, each in zip(sources, parsed, strict=True)
        ),
        overlays,
        {path: read_file(inputs.folder, path) or b"" for path in manifest.arazzo_documents},
    )
    found = tuple(map(describe_document, parsed))
    return PlannedProject(_add_declared(plan, inputs, problems), files, decided, found)


def _parse(
    source: Source,
    inputs: Inputs,
    overlays: dict[str, bytes],
    problems: Problems,
    progress: Progress,
) -> ParsedDocument:
    """Load and parse the document of a source, and add its overlays' contents to `overlays`."""
    path = source.entry.document
    if path in inputs.parsed:
        return inputs.parsed[path]
    document = inputs.documents.get(path)
    max_validated_bytes = MAX_VALIDATED_BYTES
    if document is None:
        max_validated_bytes = _REVALIDATED_BYTES
        document = _load(inputs.folder, path, problems, progress)
        if is_url(source.locked.source):  # relative server URLs are relative to the origin
            document = replace(document, url=source.locked.source)
    return parse_document(
        document,
        inputs.options,
        problems,
        progress,
        overlays=_read_overlays(inputs.folder, source.entry, overlays, problems),
        max_validated_bytes=max_validated_bytes,
    )


def read_source(
    folder: Path,
    entry: SourceEntry,
    options: BuildOptions,
    problems: Problems,
    progress: Progress,
) -> Document:
    """Load and parse one document with its overlays, and return it without their changes.

    Raises:
        RejectedError: the document is unusable; `problems` contains the reason.
    """
    document = _load(folder, entry.document, problems, progress)
    overlays = _read_overlays(folder, entry, {}, problems)
    return parse_document(
        document,
        options,
        problems,
        progress,
        overlays=overlays,
        max_validated_bytes=_REVALIDATED_BYTES,
    ).document


def _load(folder: Path, path: str, problems: Problems, progress: Progress) -> Document:
    return load_source(str(folder / path), problems, progress, shown_as=path)


def _read_overlays(
    folder: Path, entry: SourceEntry, contents: dict[str, bytes], problems: Problems
) -> list[TypedFile[OverlayFile]]:
    """Read the overlays of a source, and add their bytes to `contents` by path."""
    if not entry.overlays:
        return []
    from mcpgen.manifest.overlay import read_overlay  # needs JSONPath

    limit = DEFAULT_LIMITS.max_document_bytes
    for path in entry.overlays:
        contents[path] = read_bytes(folder / path, path, limit, problems)
    return [read_overlay(contents[path], path, problems) for path in entry.overlays]


def _join_sources(
    sources: Sequence[Source],
    parsed: Sequence[ParsedDocument],
    inputs: Inputs,
    problems: Problems,
) -> Api:
    """Join the APIs of all sources and the tools that the manifest declares."""
    apis = [
        _apply_entry(
            with_source_security(each.api, number, inputs.manifest, problems), source, inputs
        )
        for number, (source, each) in enumerate(zip(sources, parsed, strict=True))
    ]
    check_names(apis, sources, inputs.manifest, problems)
    declared = lower_declared(inputs.manifest, problems)
    check_schemes(apis, inputs.manifest, problems)
    api = join_apis([*apis, *([declared] if declared is not None else [])])
    return with_credential_sources(api, inputs.manifest, problems)


def _apply_entry(api: Api, source: Source, inputs: Inputs) -> Api:
    """Apply the manifest's entry of a source to its API."""
    entry = source.entry
    if entry.base_url:
        servers = (Server(entry.base_url.rstrip("/")),)
        operations = tuple(replace(operation, servers=servers) for operation in api.operations)
        api = replace(api, servers=servers, operations=operations)
    about = source.api_source(inputs.published.settings)
    return qualify_names(api, about) if source.name else replace(api, sources=(about,))


def _read_policy(sources: Sequence[Source], inputs: Inputs, problems: Problems) -> Policy:
    """Collect what the manifest decides and what earlier runs published."""
    names = {source.entry.document: source.name for source in sources}
    arazzo = ArazzoDocuments(inputs.folder, names, problems)
    roots = {source.locked.root: source.name for source in sources}
    return Policy(
        inputs.manifest,
        by_operation_key(inputs.lock.operations, roots),
        by_operation_key(inputs.lock.calls, roots),
        read_workflows(inputs.manifest, arazzo.read, problems),
        tuple(source.name for source in sources),
        inputs.published.arguments,
        inputs.published.members,
        decide_form(inputs.manifest.manifest, inputs.lock),
        is_new=inputs.first is not None,
    )


def decide_form(manifest: Manifest, lock: Lock) -> ListingForm:
    """Return the form of the listing: of the manifest, else as published, else of new servers."""
    form = lock.listing or (ListingForm() if lock.mcpgen else NEW_SERVERS)
    return replace(
        form,
        arguments=manifest.arguments or form.arguments,
        output_budget=manifest.output_budget or form.output_budget,
    )


@pause_garbage_collection()
def plan_server(
    api: Api, policy: Policy, problems: Problems, progress: Progress, *, strict: bool
) -> ServerPlan:
    """Plan the tools.

    Raises:
        RejectedError: there is no tool, a selector is wrong, or with `strict` an operation was
            skipped.
    """
    plan = plan_tools(api, policy, problems, count_operations(progress))
    if not problems.has_errors and not plan.tools:
        problems.error(
            "no-tools",
            "no operation of the document can be served",
            at=None,
            why="a server without tools is useless to clients",
            help="see the warnings above for the reason of each operation",
        )
    if strict and plan.skipped:
        number = len(plan.skipped)
        problems.error(
            "left-out",
            f"{number} operation{'' if number == 1 else 's'} skipped, which --strict forbids",
            why="each of them has a warning",
            help="fix the document, or run without --strict",
        )
    if problems.has_errors:
        raise RejectedError
    return plan


def _decide_credentials(
    plan: ServerPlan,
    api: Api,
    policy: Policy,
    inputs: Inputs,
    first: FirstManifest,
    problems: Problems,
    progress: Progress,
) -> tuple[ServerPlan, tuple[HiddenCredential, ...]]:
    """Decide about hidden credentials and their destinations, and plan again if that matters."""
    found = find_hidden_credentials(plan)
    if found:
        # Without a user who decides, only what the document leaves no doubt about is active.
        found = tuple(map(first.decide, found)) if first.decide else found
        if any(it.is_certain for it in found):  # otherwise the manifest has only comments
            api, policy = credentials.with_credentials(api, policy, found, problems)
            plan = plan_server(api, policy, problems, progress, strict=inputs.options.strict)
        credentials.report_decided(found, plan, problems)
    plan = credentials.with_confirmed(plan, first.confirmed_origins, first.confirm, problems)
    if problems.has_errors:
        raise StoppedError(Outcome.USAGE)
    return plan, found


def _add_declared(plan: ServerPlan, inputs: Inputs, problems: Problems) -> ServerPlan:
    """Add the manifest's resources and prompts, and what `handlers/` needs installed."""
    folder = inputs.folder
    plan = with_declared(plan, inputs.manifest, lambda path: (folder / path).is_file(), problems)
    check_targets(plan, inputs.manifest, problems)
    if problems.has_errors:
        raise RejectedError
    return replace(
        plan,
        has_asking_handlers=plan.has_asking_handlers or inputs.has_asking_handlers,
        named_call_types=inputs.named_call_types,
    )


def vendor_document(document: Document) -> dict[str, bytes]:
    """Return the files of a new document by their paths in the project, the root file first."""
    root, *others = document.files
    suffix = "json" if root.content.lstrip()[:1] in (b"{", b"[") else "yaml"
    return lay_out_document(f"openapi/{root.name}" if others else f"openapi.{suffix}", document)


def lay_out_document(path: str, document: Document) -> dict[str, bytes]:
    """Return the files of a document whose manifest entry is `path`, by their paths.

    Several files refer to each other by name, so they keep their names.
    """
    if len(document.files) == 1:
        return {path: with_lf(document.files[0].content)}
    folder = path.rpartition("/")[0]
    return {
        f"{folder}/{file.name}" if folder else file.name: with_lf(file.content)
        for file in document.files
    }
