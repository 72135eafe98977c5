"""`new` from a manifest that the user wrote before the project exists."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.lockfile import with_lf
from mcpgen.ir.file_set import MANIFEST_FILE, Owner, PlannedFile
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.pipeline.options import Options, Progress
from mcpgen.pipeline.project.origin import describe_path
from mcpgen.pipeline.project.project_folder import read_file

if TYPE_CHECKING:
    from mcpgen.pipeline.inputs import Project

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
) -> tuple[Path, Project]:
    """Build the project of the manifest at `source`; return its folder as well.

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
    return folder, replace(project, files=tuple(sorted(files, key=lambda file: file.path)))


def with_origins(project: Project, find_origin: Callable[[str], tuple[str, str]]) -> Project:
    """Record the source and the etag of each document; `find_origin` receives its root file."""
    documents = []
    for files, origin in project.inputs.documents:
        source, etag = find_origin(next(iter(files)))
        documents.append((files, replace(origin, source=source, etag=etag)))
    return replace(project, inputs=replace(project.inputs, documents=tuple(documents)))


def _check_places(intent: LocatedManifest, problems: Problems) -> None:
    """Check that the manifest names only files below its own folder.

    Raises:
        RejectedError: a path leads elsewhere.
    """
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
