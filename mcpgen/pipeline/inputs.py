"""The types that the stages of the pipeline exchange: inputs, planned project, project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from mcpgen.diagnostics import Problems
from mcpgen.emit.lockfile import Lock, LockedDocument
from mcpgen.ir.file_set import FileSet
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.pipeline.options import BuildOptions

if TYPE_CHECKING:  # `check` builds nothing, and starts faster without these
    from mcpgen.emit.merge.merge import Skeletons
    from mcpgen.ir.credentials import HiddenCredential
    from mcpgen.ir.document import Document
    from mcpgen.ir.findings import FoundDocument
    from mcpgen.ir.surface import Surface
    from mcpgen.ir.tool_plan import ServerPlan
    from mcpgen.pipeline.parse import ParsedDocument
    from mcpgen.pipeline.project.credentials import Confirm, Decide

_DEFAULTS = BuildOptions()


class Published(Struct, frozen=True):
    """Names that the generated package has published; later runs keep them."""

    settings: Mapping[str, str] = field(default_factory=dict)  # by security scheme
    arguments: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by operation
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Arguments that are members of a body, by operation and the name of the API."""
    surface: Surface | None = None  # None if it cannot be read


class FirstManifest(Struct, frozen=True):
    """Decisions for a manifest that `new` writes; None for no callback to ask the user."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    base_url: str = ""
    credentials: Mapping[str, CredentialEntry] = field(default_factory=dict)  # by security scheme
    confirmed_origins: tuple[str, ...] = ()  # that may receive credentials
    decide: Decide | None = None
    confirm: Confirm | None = None


class Inputs(Struct, frozen=True):
    """All data that determines the files of a project. Each command creates its own."""

    folder: Path  # the paths in the manifest are relative to it
    manifest: LocatedManifest
    options: BuildOptions = _DEFAULTS
    answers: Mapping[str, str] = field(default_factory=dict)  # to the skeleton's questions
    lock: Lock = Lock()
    published: Published = Published()
    has_asking_handlers: bool = False  # code in `handlers/` asks clients for input
    named_call_types: frozenset[str] = frozenset()  # as in `ServerPlan`
    documents: Mapping[str, Document] = field(default_factory=dict)  # replace files, by path
    parsed: Mapping[str, ParsedDocument] = field(default_factory=dict)  # likewise, parsed already
    first: FirstManifest | None = None  # of a project that has no manifest yet
    schema_file: str = ""  # that a first manifest names for editors, relative to it


class InputFiles(Struct, frozen=True):
    """The files that a project is generated from, besides its manifest."""

    documents: tuple[tuple[Mapping[str, bytes], LockedDocument], ...] = ()
    overlays: Mapping[str, bytes] = field(default_factory=dict)
    arazzo: Mapping[str, bytes] = field(default_factory=dict)  # the documents of workflows

    @property
    def documents_by_path(self) -> dict[str, bytes]:
        """The files of all documents by path; the first one's root file comes first."""
        return {path: content for each, _ in self.documents for path, content in each.items()}


class PlannedProject(Struct, frozen=True):
    """A planned server, and the files it was planned from."""

    plan: ServerPlan
    files: InputFiles
    credentials: tuple[HiddenCredential, ...] = ()  # decided for the first manifest
    found: tuple[FoundDocument, ...] = ()  # by source


class DerivedFiles(Struct, frozen=True):
    """The generated tests, and the skills, which show calls of them."""

    files: FileSet
    tools: int  # that are tested
    problems: Problems  # that name tools without a sample


class Project(Struct, frozen=True):
    """All files of a project in memory, except its lock."""

    plan: ServerPlan
    files: FileSet
    skeletons: Skeletons  # for merges whose base was lost
    inputs: InputFiles
    credentials: tuple[HiddenCredential, ...] = ()  # as in `PlannedProject`
    found: tuple[FoundDocument, ...] = ()
    first_tasks: FileSet = ()  # of `evals/`, for a new project alone
