"""Read the inputs of a build from the folder of a project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.lockfile import Lock
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import ANSWERS_FILE, MANIFEST_FILE, TESTS_FILE
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.tests_file import LocatedTests
from mcpgen.manifest.manifest import read_manifest
from mcpgen.manifest.typed_file import read_tests
from mcpgen.pipeline.inputs import Inputs, Published
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.project.overrides import find_named_call_types, read_project_handlers
from mcpgen.pipeline.project.project_folder import load_readable_surface, read_file
from mcpgen.pipeline.project.sources import read_setting_prefixes
from mcpgen.pipeline.render import parse_answers


def read_intent(target: Path, problems: Problems) -> LocatedManifest:
    """Read the project's manifest.

    Raises:
        RejectedError: it is missing or invalid.
    """
    content = read_file(target, MANIFEST_FILE)
    if content is None:
        problems.error(
            "no-manifest",
            f"{target / MANIFEST_FILE} is missing",
            why="it contains the server's name and the selection of its tools",
            help="restore it from version control",
        )
        raise RejectedError
    return read_manifest(content, problems)


def read_inputs(
    folder: Path,
    manifest: LocatedManifest,
    options: BuildOptions,
    *,
    lock: Lock | None = None,
    documents: Mapping[str, Document] | None = None,
) -> Inputs:
    """Return the inputs of the project in `folder`.

    `documents` replace those in the folder, by their paths. Options override recorded answers.
    """
    return Inputs(
        folder,
        manifest,
        options,
        {**parse_answers(read_file(folder, ANSWERS_FILE)), **options.answers},
        lock or Lock(),
        _read_published_names(folder),
        bool(read_project_handlers(folder, Problems()).asking),  # its problems come with overrides
        find_named_call_types(folder),
        documents or {},
    )


def _read_published_names(folder: Path) -> Published:
    """Read the names that the package in `folder` has published, as clients know them."""
    surface = load_readable_surface(folder)
    tools = () if surface is None else surface.handled.values()
    return Published(
        read_setting_prefixes(folder),
        {it.operation: frozenset(it.input_schema.get("properties", ())) for it in tools},
        {it.operation: it.members for it in tools if it.flat_body is not None},
        surface,
    )


def read_own_cases(target: Path, problems: Problems) -> LocatedTests | None:
    """Read `mcpgen.tests.yaml`; None if it does not exist or, with problems, if it is invalid."""
    content = read_file(target, TESTS_FILE)
    return None if content is None else parse_own_cases(content, target, problems)


def parse_own_cases(content: bytes, target: Path, problems: Problems) -> LocatedTests | None:
    """Read the cases of the server at `target`; None, with problems, where the file is wrong."""

    upstream = json.loads(read_file(target, "tests/generated/upstream.json") or b"{}")
    described = upstream.get("operations", ())
    operations = [it.get("key", f"{it['method']} {it['path']}") for it in described]
    try:
        return read_tests(content, operations, problems)
    except RejectedError:
        return None
