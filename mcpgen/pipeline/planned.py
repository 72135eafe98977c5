"""What a project's folder asks for, planned: the step that `generate`, `pull` and others share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.lock import Lock, LockedDocument, by_operation_key, with_lf
from mcpgen.ir.api import Api, Server
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest, SourceEntry
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline import stages
from mcpgen.pipeline.credentials import report_hidden
from mcpgen.pipeline.options import GenerateOptions, Progress
from mcpgen.pipeline.overrides import read_project_handlers
from mcpgen.pipeline.project_folder import Inputs, published_arguments, read_file
from mcpgen.pipeline.sources import Source, identify_sources, published_settings
from mcpgen.plan.by_hand import plan_by_hand
from mcpgen.plan.declared import with_declared
from mcpgen.plan.policy import Policy
from mcpgen.plan.targets import check_targets
from mcpgen.spec.arazzo import ArazzoDocuments
from mcpgen.spec.declared import lower_declared
from mcpgen.spec.join import joined, qualified
from mcpgen.spec.limits import DEFAULT_LIMITS
from mcpgen.spec.load import load
from mcpgen.spec.manifest import read_manifest
from mcpgen.spec.source_file import read_bytes
from mcpgen.spec.source_security import with_source_security
from mcpgen.spec.urls import is_url
from mcpgen.spec.validate import JUDGED_BYTES
from mcpgen.spec.workflows import read_workflows

if TYPE_CHECKING:
    from mcpgen.spec.overlay import OverlayFile
    from mcpgen.spec.typed_file import TypedFile

# A larger document is judged by openapi-spec-validator where it enters, by `new` and `pull`; at
# each change of it, that would take most of the time of `generate`.
_JUDGED_AGAIN_BYTES: Final = 256 * 1024


class Planned(Struct, frozen=True):
    """A server, planned, and what it was planned from as it lies in the project."""

    plan: ServerPlan
    inputs: Inputs


def read_intent(target: Path, problems: Problems) -> LocatedManifest:
    """Read the project's manifest.

    Raises:
        RejectedError: there is none, or it cannot be followed.
    """
    content = read_file(target, MANIFEST_FILE)
    if content is None:
        problems.error(
            "no-manifest",
            f"{target / MANIFEST_FILE} is missing",
            why="it says what the server is called and what it exposes",
            help="take it back from version control",
        )
        raise RejectedError
    return read_manifest(content, problems)


def plan_project(
    target: Path,
    lock: Lock,
    intent: LocatedManifest,
    options: GenerateOptions,
    problems: Problems,
    progress: Progress,
    *,
    documents: Mapping[str, Document] | None = None,
) -> Planned:
    """Plan the server that the manifest asks for.

    Its documents are those in the project, and `documents` in place of some, by where they lie.

    Raises:
        RejectedError: nothing can be made of it; `problems` says why.
    """
    manifest = intent.manifest
    if not manifest.sources and not manifest.tools:
        by_hand = _with_declared(plan_by_hand(manifest), target, intent, problems)
        return Planned(by_hand, Inputs())
    _check_there(target, intent, documents or {}, problems)
    sources = identify_sources(intent, lock, problems)
    reading = _Reading(target, options, problems, progress)
    overlays: dict[str, bytes] = {}
    read = [
        reading.understood(
            source.entry, (documents or {}).get(source.entry.document), overlays, source.locked
        )
        for source in sources
    ]
    published = published_settings(target)
    apis = [
        _of_source(
            with_source_security(understood.api, number, intent, problems), source, published
        )
        for number, (source, understood) in enumerate(zip(sources, read, strict=True))
    ]
    _check_names(apis, sources, intent, problems)
    declared = lower_declared(intent, problems)
    _check_schemes(apis, intent, problems)
    api = joined([*apis, *([declared] if declared is not None else [])])
    names = {source.entry.document: source.name for source in sources}
    arazzo = ArazzoDocuments(target, names, problems)
    begins = {source.locked.root: source.name for source in sources}
    policy = Policy(
        intent,
        by_operation_key(lock.operations, begins),
        by_operation_key(lock.calls, begins),
        read_workflows(intent, arazzo.read, problems),
        tuple(source.name for source in sources),
        published_arguments(target),
    )
    plan = stages.plan_server(api, policy, problems, strict=options.strict)
    _check_shared_secrets(plan, problems)
    report_hidden(plan, {source.name: source.entry for source in sources}, problems)
    plan = _with_declared(plan, target, intent, problems)
    inputs = Inputs(
        tuple(
            (_vendored_at(source.entry.document, understood.document), source.origin)
            for source, understood in zip(sources, read, strict=True)
        ),
        overlays,
        arazzo={path: read_file(target, path) or b"" for path in manifest.arazzo_documents},
    )
    return Planned(plan, inputs)


def _check_there(
    target: Path, intent: LocatedManifest, given: Collection[str], problems: Problems
) -> None:
    """Hold that the files of the sources are there, but for the documents that are `given`.

    Raises:
        RejectedError: one is not; told where the manifest names it.
    """
    missing = {
        tokens: path
        for tokens, path in intent.manifest.source_files.items()
        if not (tokens[-1] == "document" and path in given) and not (target / path).exists()
    }
    for tokens, path in missing.items():
        problems.error(
            "unreadable",
            f"`{path}` is missing",
            at=intent.locate(tokens),
            why="the manifest names it, and tools are made of what it says",
            help="correct the path, or take the file back from version control",
        )
    if missing:
        raise RejectedError


def read_source(
    target: Path,
    source: SourceEntry,
    options: GenerateOptions,
    problems: Problems,
    progress: Progress,
) -> Document:
    """Read and check one document of a project with its overlays; give it without them.

    Raises:
        RejectedError: nothing can be made of it; `problems` says why.
    """
    reading = _Reading(target, options, problems, progress)
    return reading.understood(source, None, {}).document


def _check_schemes(apis: Sequence[Api], intent: LocatedManifest, problems: Problems) -> None:
    """Hold that a credential of the document is never taken for one of the manifest's.

    Raises:
        RejectedError: both declare a security scheme of one name.
    """
    described = {scheme.id for api in apis for scheme in api.security_schemes}
    taken = sorted(described & intent.manifest.security_schemes.keys())
    for name in taken:
        problems.error(
            "security-scheme",
            f"the document has a security scheme `{name}` as well",
            at=intent.locate(("security_schemes", name)),
            why="one credential would be sent to two APIs",
            help="give this one another name",
        )
    if taken:
        raise RejectedError


def _check_shared_secrets(plan: ServerPlan, problems: Problems) -> None:
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


class _Reading(Struct, frozen=True):
    target: Path
    options: GenerateOptions
    problems: Problems
    progress: Progress

    def understood(
        self,
        source: SourceEntry,
        document: Document | None,
        overlays: dict[str, bytes],
        locked: LockedDocument | None = None,
    ) -> stages.Understood:
        """Load what a source names, unless it is given, and understand it.

        The overlays that are read are added to `overlays`.
        """
        judged_bytes = JUDGED_BYTES
        if document is None:
            judged_bytes = _JUDGED_AGAIN_BYTES
            self.progress(f"reading {source.document}")
            document = load(str(self.target / source.document), self.problems)
            origin = locked.source if locked is not None else ""
            if is_url(origin):  # relative server URLs are meant relative to where it came from
                document = replace(document, url=origin)
        return stages.understand_document(
            document,
            self.problems,
            self.progress,
            outside_judge=self.options.outside_judge,
            judged_bytes=judged_bytes,
            cache=self.options.cache,
            overlays=[self._overlay(path, overlays) for path in source.overlays],
        )

    def _overlay(self, path: str, overlays: dict[str, bytes]) -> TypedFile[OverlayFile]:
        from mcpgen.spec.overlay import read_overlay  # most servers have none, and no JSONPath

        limit = DEFAULT_LIMITS.max_document_bytes
        overlays[path] = read_bytes(self.target / path, path, limit, self.problems)
        return read_overlay(overlays[path], path, self.problems)


def _check_names(
    apis: Sequence[Api], sources: Sequence[Source], intent: LocatedManifest, problems: Problems
) -> None:
    """Check that no schema or security scheme of one source has the name of another source's.

    Raises:
        RejectedError: one has: a document declares `rail.Trip`, and the source `rail` has `Trip`.
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


def _of_source(api: Api, source: Source, published: Mapping[str, str]) -> Api:
    """An API as the manifest's entry of its source has it."""
    entry = source.entry
    if entry.base_url:
        servers = (Server(entry.base_url.rstrip("/")),)
        operations = tuple(replace(operation, servers=servers) for operation in api.operations)
        api = replace(api, servers=servers, operations=operations)
    about = source.api_source(published)
    return qualified(api, about) if source.name else replace(api, sources=(about,))


def _with_declared(
    plan: ServerPlan, target: Path, intent: LocatedManifest, problems: Problems
) -> ServerPlan:
    """Add the resources and prompts of the manifest, and what the `handlers/` need installed.

    Raises:
        RejectedError: one of them cannot be followed.
    """
    plan = with_declared(plan, intent, lambda path: (target / path).is_file(), problems)
    check_targets(plan, intent, problems)
    if problems.has_errors:
        raise RejectedError
    written = read_project_handlers(target, Problems())  # reported with the overrides
    return replace(plan, has_asking_handlers=plan.has_asking_handlers or bool(written.asking))


def _vendored_at(path: str, document: Document) -> dict[str, bytes]:
    """Return a document's files by where they lie in a project whose manifest says `path`.

    Several files refer to each other by name, and keep theirs.
    """
    if len(document.files) == 1:
        return {path: with_lf(document.files[0].content)}
    folder = path.rpartition("/")[0]
    return {
        f"{folder}/{file.name}" if folder else file.name: with_lf(file.content)
        for file in document.files
    }
