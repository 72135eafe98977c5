"""`new`: from an API description to a project that did not exist."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.lockfile import with_lf
from mcpgen.emit.reconcile import Earlier, reconcile
from mcpgen.emit.write import RefusedError, lock_project
from mcpgen.ir.file_set import MANIFEST_FILE, Owner, PlannedFile
from mcpgen.ir.manifest import LocatedManifest, Manifest, SelectRule, ServerEntry, SourceEntry
from mcpgen.pipeline.commands.generate import note_current
from mcpgen.pipeline.inputs import FirstManifest, Inputs, Project
from mcpgen.pipeline.options import Options, Outcome, Progress, Report, StoppedError
from mcpgen.pipeline.project.disk import report_refused
from mcpgen.pipeline.project.project_folder import commit, make_lock, read_file, refuse_target
from mcpgen.pipeline.project.sources import describe_path, describe_source
from mcpgen.pipeline.project.workspace import find_editor_schema

if TYPE_CHECKING:
    from mcpgen.pipeline.project.credentials import Confirm, Decide
    from mcpgen.pipeline.survey import Survey


Choose = Callable[["Survey", Options, Path | None], tuple[Options, Path | None]]
"""Completes the options and the target of `new` with what the user answers."""

_MANIFEST_KEY = re.compile(rb"^[\"']?server[\"']?\s*:", re.MULTILINE)
_DOCUMENT_KEY = re.compile(rb"[\"']?(openapi|swagger)[\"']?\s*:")


def is_manifest(source: str) -> bool:
    """Whether a file is a manifest rather than an API description."""
    path = Path(source)
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(65_536)
    return bool(_MANIFEST_KEY.search(head)) and not _DOCUMENT_KEY.match(head)


def make_from_manifest(
    source: Path,
    target: Path | None,
    options: Options,
    problems: Problems,
    progress: Progress,
) -> tuple[Path, Project, Manifest]:
    """Build the project of the manifest at `source`; return its folder and the manifest as well.

    The paths in the manifest are relative to it, and the same in the project.

    Raises:
        RejectedError: the project cannot be built; `problems` contains the reason.
    """
    from mcpgen.manifest.manifest import read_manifest
    from mcpgen.pipeline.build import build
    from mcpgen.pipeline.project.read_inputs import read_inputs

    content = source.read_bytes()
    intent = read_manifest(content, problems, source.as_posix())
    _check_places(intent, problems)
    inputs = replace(read_inputs(source.parent, intent, options), answers=options.answers)
    project = build(inputs, problems, progress)
    folder = target or Path(project.plan.distribution)
    project = with_origins(project, lambda root: (describe_path(source.parent / root, folder), ""))
    owned = {MANIFEST_FILE: with_lf(content), **project.inputs.overlays}
    owned |= _read_named_files(source.parent, intent)
    files = [file for file in project.files if file.path not in owned]
    files += [PlannedFile(path, text, Owner.OWNED) for path, text in owned.items()]
    files.sort(key=lambda file: file.path)
    return folder, replace(project, files=tuple(files)), intent.manifest


def with_origins(project: Project, find_origin: Callable[[str], tuple[str, str]]) -> Project:
    """Record the source and the etag of each document; `find_origin` receives its root file."""
    documents = []
    for files, origin in project.inputs.documents:
        source, etag = find_origin(next(iter(files)))
        documents.append((files, replace(origin, source=source, etag=etag)))
    return replace(project, inputs=replace(project.inputs, documents=tuple(documents)))


def _check_places(intent: LocatedManifest, problems: Problems) -> None:
    """Check that the manifest names only files below its own folder."""
    named = intent.manifest.source_files
    outside = {tokens: path for tokens, path in named.items() if not _is_inside(path)}
    for tokens, path in outside.items():
        problems.error(
            "manifest",
            f"`{path}` is not below the folder of the manifest",
            at=intent.locate(tokens),
            why="it is copied to the same path in the project",
            help="move it there, and write its relative path",
        )
    if outside:
        raise RejectedError


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not (pure.is_absolute() or ".." in pure.parts or "://" in path or "\\" in path)


def _read_named_files(folder: Path, intent: LocatedManifest) -> dict[str, bytes]:
    """Read the existing files that resources and workflows of the manifest name."""
    manifest = intent.manifest
    named = [resource.file for resource in manifest.resources.values()]
    named += [workflow.arazzo for workflow in manifest.workflows.values()]
    found = {path: read_file(folder, path) for path in named if path and _is_inside(path)}
    return {path: with_lf(content) for path, content in found.items() if content is not None}


def new(
    source: str,
    target: Path | None,
    options: Options,
    progress: Progress,
    decide: Decide | None = None,
    confirm: Confirm | None = None,
    choose: Choose | None = None,
) -> Report:
    """Create a server project from the API description at `source`, a path or a URL.

    `source` may also be the path of a manifest that names its own documents. `decide` is called for
    each credential that the document hides; without it, only certain ones are read from the
    environment. `confirm` is called for each other origin that would receive credentials; without
    it, only `options.confirmed_origins` may. `choose` completes the options and the target, as soon
    as the document has been read.

    Without `target`, the project is `<name>-mcp` here. The folder is written as a whole or not at
    all; the report's problems contain every reason.
    """
    problems = Problems()
    if target is not None and refuse_target(target, problems):
        return Report(problems, Outcome.USAGE, target)
    if is_manifest(source):
        return _new_from_manifest(Path(source), target, options, problems, progress)
    from mcpgen.emit.skeleton import prepare_skeleton

    try:
        with prepare_skeleton() as skeleton:
            # Imported here: the pipeline loads a validator, templates and YAML, which `check` never
            # needs.
            from mcpgen.pipeline.build import build, vendor_document
            from mcpgen.pipeline.parse import parse_source
            from mcpgen.pipeline.server_name import check_server_name, choose_server_name

            parsed = parse_source(source, options, problems, progress)
            name = options.name or choose_server_name(parsed.api.title)
            if choose is not None:
                from mcpgen.pipeline.survey import take_survey

                progress("measure")
                survey = take_survey(parsed, name, first_manifest(name, "", Options()), progress)
                options, target = choose(survey, options, target)
                name = options.name or name
            check_server_name(name, problems)
            target = target or Path(f"{name}-mcp")
            if refuse_target(target, problems):
                return Report(problems, Outcome.USAGE, target)
            path = next(iter(vendor_document(parsed.document)))
            first = FirstManifest(
                options.include,
                options.exclude,
                options.base_url,
                options.credentials,
                options.confirmed_origins,
                decide,
                confirm,
            )
            manifest = first_manifest(name, path, options)
            inputs = Inputs(
                target,
                manifest,
                options,
                options.answers,
                parsed={path: parsed},
                first=first,
                schema_file=find_editor_schema(target),
            )
            project = build(inputs, problems, progress, skeleton)
    except StoppedError as stopped:
        return Report(problems, stopped.outcome, target or Path())
    except RejectedError:
        return Report(problems, Outcome.REJECTED, target or Path())
    source = describe_source(parsed.document, target)
    project = with_origins(project, lambda _: (source, parsed.document.etag))
    report = _write(target, project, problems, progress, options)
    return _with_decisions(report, project, manifest.manifest, options, has_manifest=False)


def _with_decisions(
    report: Report, project: Project, manifest: Manifest, options: Options, *, has_manifest: bool
) -> Report:
    """Add the findings and decisions to the report of a project that was written."""
    from mcpgen.pipeline.decisions import Decided, explain_decisions

    decided = Decided(project.plan, manifest, options, has_manifest, project.credentials)
    return replace(report, found=project.found, decisions=explain_decisions(decided))


def _new_from_manifest(
    source: Path,
    target: Path | None,
    options: Options,
    problems: Problems,
    progress: Progress,
) -> Report:
    selection = options.include or options.exclude
    api = options.base_url or options.credentials or options.confirmed_origins
    if options.name or selection or api or not options.models or options.code:
        problems.error(
            "manifest-decides",
            f"{source} already decides the name and the tools of the server",
            at=Location(source.as_posix()),
            why="--name, --include, --exclude, --no-models, --code, --base-url, --credential and"
            " --confirm-origin are for a server without a manifest",
            help="write it in the manifest, under `server.name`, `select`, `models`, `code`,"
            " `credentials`, and `base_url` and `credential_origins` of a source",
        )
        return Report(problems, Outcome.USAGE, target or Path())
    try:
        target, project, manifest = make_from_manifest(source, target, options, problems, progress)
    except RejectedError:
        return Report(problems, Outcome.REJECTED, target or Path())
    if refuse_target(target, problems):
        return Report(problems, Outcome.USAGE, target, project.plan)
    report = _write(target, project, problems, progress, options)
    return _with_decisions(report, project, manifest, options, has_manifest=True)


def new_by_hand(
    name: str, target: Path | None, answers: Mapping[str, str], progress: Progress
) -> Report:
    """Create a server project without a document; its owner writes all that it serves.

    Without `target`, the project is `<name>-mcp` here; otherwise as `new`.
    """
    problems = Problems()
    target = target or Path(f"{name}-mcp")
    if refuse_target(target, problems):
        return Report(problems, Outcome.USAGE, target)
    from mcpgen.pipeline.build import build
    from mcpgen.pipeline.server_name import check_server_name

    try:
        check_server_name(name, problems)
        manifest = first_manifest(name, "", Options())
        schema_file = find_editor_schema(target)
        inputs = Inputs(target, manifest, answers=answers, schema_file=schema_file)
        project = build(inputs, problems, progress)
    except RejectedError:
        return Report(problems, Outcome.REJECTED, target)
    return _write(target, project, problems, progress, None)


def first_manifest(name: str, document: str, options: Options) -> LocatedManifest:
    """Return the manifest of a new server: its document, and the selection of the command line."""
    manifest = Manifest(
        server=ServerEntry(name=name),
        sources=(SourceEntry(document=document, base_url=options.base_url),) if document else (),
        models=options.models,
        code=options.code,
        credentials=dict(options.credentials),
        select=(
            *(SelectRule(exclude=glob) for glob in options.exclude),
            *(SelectRule(include=glob) for glob in options.include),
        ),
    )
    return LocatedManifest(manifest, lambda _: Location(MANIFEST_FILE))


def _write(
    target: Path,
    project: Project,
    problems: Problems,
    progress: Progress,
    options: Options | None,
) -> Report:
    """Write a new project; with `options` also into the up-to-date cache.

    The tasks of `evals/` are not in the lock: no later run makes or changes them.
    """
    plan = project.plan
    progress("write")
    changes = reconcile(project.files, Earlier(), lambda _: None)
    lock = make_lock(project, changes.files)
    changes = replace(changes, written=(*changes.written, *project.first_tasks))
    made = [folder for folder in (target, *target.parents) if not folder.exists()]
    try:
        target.mkdir(parents=True, exist_ok=True)
        with lock_project(target):
            if refuse_target(target, problems):  # another run was faster
                return Report(problems, Outcome.USAGE, target, plan)
            written = commit(target, changes, lock)
    except (OSError, RefusedError) as error:
        _remove_empty(made)
        return Report(problems, report_refused(error, target, problems), target, plan)
    report = Report(problems, Outcome.DONE, target, plan, written)
    if options is not None:
        note_current(report, options.cache)
    return report


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, the deepest first, up to one that is not empty."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
