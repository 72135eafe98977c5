"""`mcpgen-workspace.yaml`: the servers of a monorepo that are looked after together, key by key.

The types are the one statement of what the file may hold, as those of the manifest are of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from mcpgen.diagnostics import Location
from mcpgen.ir.version_pin import VersionPin

WORKSPACE_FILE = "mcpgen-workspace.yaml"

Column: TypeAlias = Literal["server", "api", "version", "tools", "tokens", "owner", "tests"]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Glob: TypeAlias = Annotated[
    str,
    Meta(min_length=1, description="A pattern of folders, relative to the workspace file."),
]
Owner: TypeAlias = Annotated[
    str,
    Meta(min_length=1, description="`@user`, `@org/team` or an e-mail address."),
]
# No `pattern` beside the list: the collector crashes on such a union (msgspec 0.22).
Owners: TypeAlias = Owner | Annotated[tuple[Owner, ...], Meta(min_length=1)]

INVENTORY_COLUMNS: tuple[Column, ...] = get_args(Column)


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping of the workspace file."""


class DefaultsEntry(_Entry, frozen=True):
    """What holds for a server that says nothing else; all but `owner` answer `mcpgen new`."""

    owner: Owners | None = None
    namespace: Text | None = None
    python_version: Text | None = None
    github_workflow: Literal["no", "yes"] | None = None
    pre_commit: Literal["no", "yes"] | None = None

    @property
    def answers(self) -> dict[str, str]:
        """What is answered to the questions that `mcpgen new` asks."""
        given = {"namespace": self.namespace, "python_version": self.python_version}
        given |= {"github_workflow": self.github_workflow, "pre_commit": self.pre_commit}
        return {question: answer for question, answer in given.items() if answer is not None}


class FileEntry(_Entry, frozen=True):
    """A file at the root in which mcpgen keeps a block of its own."""

    file: Annotated[Text, Meta(description="Relative to the workspace file.")]


class InventoryEntry(FileEntry, frozen=True):
    """The file that lists the servers, and what it says of each."""

    columns: Annotated[tuple[Column, ...], Meta(min_length=1)] = INVENTORY_COLUMNS


class WorkspaceFile(_Entry, frozen=True):
    """Which servers are looked after together, and how."""

    version: Annotated[Literal[1], Meta(description="Of this format.")]
    mcpgen: Annotated[
        Text, Meta(description="The versions of mcpgen that generate the servers: `0.4.*`.")
    ]
    servers: Annotated[
        tuple[Glob, ...],
        Meta(min_length=1, description="Every folder that matches and has an mcpgen.yaml."),
    ]
    runtime: Annotated[
        Text | None, Meta(description="What each server has to require: `mcpgen>=0.4,<0.5`.")
    ] = None
    defaults: DefaultsEntry = DefaultsEntry()
    owners: Annotated[
        dict[Glob, Owners],
        Meta(description="Of the servers that match; the last pattern that does counts."),
    ] = {}
    inventory: InventoryEntry | None = None
    codeowners: FileEntry | None = None
    gitattributes: FileEntry | None = None


class WorkspaceSettings(Struct, frozen=True):
    """A workspace file that can be followed, and where it says what."""

    file: WorkspaceFile
    mcpgen: VersionPin
    runtime: VersionPin | None
    at: Callable[[tuple[str, ...]], Location]


def listed(owners: Owners | None) -> tuple[str, ...]:
    """Give the owners of an entry, one or several."""
    if owners is None:
        return ()
    return (owners,) if isinstance(owners, str) else owners
