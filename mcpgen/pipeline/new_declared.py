"""`new` from a manifest: a project whose manifest was written before there was a project."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.lock import Lock, with_lf
from mcpgen.ir.file_set import MANIFEST_FILE, FileSet, Owner, PlannedFile
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.pipeline.options import GenerateOptions, Options, Progress, Project
from mcpgen.pipeline.origin import recorded_path
from mcpgen.pipeline.project_folder import Inputs, read_file

_MANIFEST_KEY = re.compile(rb"^[\"']?server[\"']?\s*:", re.MULTILINE)
_DOCUMENT_KEY = re.compile(rb"[\"']?(openapi|swagger)[\"']?\s*:")


def is_manifest(source: str) -> bool:
    """Whether a file is a manifest, and no API description."""
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
) -> tuple[Path, Project, Inputs]:
    """Make the project that the manifest at `source` asks for, and say where it goes.

    What the manifest names lies beside it, and comes into the project at the same place.

    Raises:
        RejectedError: nothing can be made of it; `problems` says why.
    """
    from mcpgen.pipeline import stages
    from mcpgen.pipeline.planned import plan_project
    from mcpgen.spec.manifest import read_manifest

    content = source.read_bytes()
    intent = read_manifest(content, problems, source.as_posix())
    _check_places(intent, problems)
    given = GenerateOptions(
        strict=options.strict, outside_judge=options.outside_judge, cache=options.cache
    )
    planned = plan_project(source.parent, Lock(), intent, given, problems, progress)
    target = target or Path(planned.plan.distribution)
    inputs = replace(
        planned.inputs,
        documents=tuple(
            (
                files,
                replace(origin, source=recorded_path(source.parent / next(iter(files)), target)),
            )
            for files, origin in planned.inputs.documents
        ),
    )
    project = stages.make_project(
        planned.plan, inputs.files, options.answers, problems, progress, cache=options.cache
    )
    owned = {MANIFEST_FILE: with_lf(content), **inputs.overlays}
    owned |= _files_beside(source.parent, intent)
    files = tuple(file for file in project.files if file.path not in owned)
    files += tuple(PlannedFile(path, held, Owner.OWNED) for path, held in owned.items())
    return target, replace(project, files=_sorted(files)), inputs


def _sorted(files: FileSet) -> FileSet:
    return tuple(sorted(files, key=lambda file: file.path))


def _check_places(intent: LocatedManifest, problems: Problems) -> None:
    """Refuse what would lie outside the project.

    Raises:
        RejectedError: something would.
    """
    named = intent.manifest.source_files
    outside = {tokens: path for tokens, path in named.items() if not _is_inside(path)}
    for tokens, path in outside.items():
        problems.error(
            "manifest",
            f"`{path}` does not lie in a folder below the manifest",
            at=intent.locate(tokens),
            why="it is copied into the project, to the same place",
            help="put it beside the manifest, and name its path from there",
        )
    if outside:
        raise RejectedError


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not (pure.is_absolute() or ".." in pure.parts or "://" in path or "\\" in path)


def _files_beside(folder: Path, intent: LocatedManifest) -> dict[str, bytes]:
    """Read the other files that the manifest names, as far as they are there."""
    manifest = intent.manifest
    named = [resource.file for resource in manifest.resources.values()]
    named += [workflow.arazzo for workflow in manifest.workflows.values()]
    found = {path: read_file(folder, path) for path in named if path and _is_inside(path)}
    return {path: with_lf(content) for path, content in found.items() if content is not None}
