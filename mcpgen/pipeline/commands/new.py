"""`new`: from an API description to a project that did not exist."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.reconcile import Earlier, reconcile
from mcpgen.emit.write import RefusedError, lock_project
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest, Manifest, SelectRule, ServerEntry, SourceEntry
from mcpgen.pipeline.commands.new_declared import is_manifest, make_from_manifest, with_origins
from mcpgen.pipeline.commands.up_to_date_cache import note_current
from mcpgen.pipeline.options import Options, Progress, Report
from mcpgen.pipeline.outcome import Outcome, StoppedError
from mcpgen.pipeline.project.disk import report_refused
from mcpgen.pipeline.project.origin import describe_source
from mcpgen.pipeline.project.project_folder import commit, make_lock, refuse_target
from mcpgen.pipeline.project.workspace import find_editor_schema

if TYPE_CHECKING:
    from mcpgen.pipeline.inputs import Project
    from mcpgen.pipeline.project.credentials import Confirm, Decide


def new(
    source: str,
    target: Path | None,
    options: Options,
    progress: Progress,
    decide: Decide | None = None,
    confirm: Confirm | None = None,
) -> Report:
    """Make a server project from the API description at `source`, a path or a URL.

    It may be a manifest as well, the path of one that names its own documents. `decide` is asked
    about each credential that the document hides; without it, only those that leave no doubt are
    taken from the environment. `confirm` is asked about each other origin that would get
    credentials; without it, only `options.confirmed_origins` may.

    Without `target` it goes to `<name>-mcp` here. The folder is written as a whole or not at all;
    every reason stands in the report's problems.
    """
    problems = Problems()
    if target is not None and refuse_target(target, problems):
        return Report(problems, Outcome.USAGE, target)
    if is_manifest(source):
        return _new_from_manifest(Path(source), target, options, problems, progress)
    # Imported here: the pipeline loads a validator, templates and YAML, which `check` never needs.
    from mcpgen.pipeline.build import build, vendor_document
    from mcpgen.pipeline.inputs import FirstManifest, Inputs
    from mcpgen.pipeline.parse import parse_source
    from mcpgen.pipeline.server_name import check_server_name, choose_server_name

    try:
        parsed = parse_source(source, options, problems, progress)
        name = options.name or choose_server_name(parsed.api.title)
        check_server_name(name, problems)
        target = target or Path(f"{name}-mcp")
        if refuse_target(target, problems):
            return Report(problems, Outcome.USAGE, target)
        path = next(iter(vendor_document(parsed.document)))
        first = FirstManifest(
            options.include, options.exclude, options.confirmed_origins, decide, confirm
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
        project = build(inputs, problems, progress)
    except StoppedError as stopped:
        return Report(problems, stopped.outcome, target or Path())
    except RejectedError:
        return Report(problems, Outcome.REJECTED, target or Path())
    source = describe_source(parsed.document, target)
    project = with_origins(project, lambda _: (source, parsed.document.etag))
    return _write(target, project, problems, progress, options)


def _new_from_manifest(
    source: Path,
    target: Path | None,
    options: Options,
    problems: Problems,
    progress: Progress,
) -> Report:
    by_options = options.include or options.exclude or options.confirmed_origins
    if options.name or by_options or not options.models:
        problems.error(
            "manifest-decides",
            f"{source} already decides the name and the tools of the server",
            at=Location(source.as_posix()),
            why="--name, --include, --exclude, --no-models and --confirm-origin are for a server"
            " without a manifest",
            help="write it in the manifest, under `server.name`, `select`, `models` and"
            " `credential_origins` of a source",
        )
        return Report(problems, Outcome.USAGE, target or Path())
    try:
        target, project = make_from_manifest(source, target, options, problems, progress)
    except RejectedError:
        return Report(problems, Outcome.REJECTED, target or Path())
    if refuse_target(target, problems):
        return Report(problems, Outcome.USAGE, target, project.plan)
    return _write(target, project, problems, progress, options)


def new_by_hand(
    name: str, target: Path | None, answers: Mapping[str, str], progress: Progress
) -> Report:
    """Make a server project without a document, whose owner writes all that it serves.

    Without `target` it goes to `<name>-mcp` here; otherwise as `new`.
    """
    problems = Problems()
    target = target or Path(f"{name}-mcp")
    if refuse_target(target, problems):
        return Report(problems, Outcome.USAGE, target)
    from mcpgen.pipeline.build import build
    from mcpgen.pipeline.inputs import Inputs
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
        sources=(SourceEntry(document=document),) if document else (),
        models=options.models,
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
    """Write a new project; with `options` also into the up-to-date cache."""
    plan = project.plan
    progress(f"writing {target}")
    changes = reconcile(project.files, Earlier(), lambda _: None)
    lock = make_lock(project, changes.files)
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
