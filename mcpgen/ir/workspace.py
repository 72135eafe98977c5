"""Types of `mcpgen-workspace.yaml`, the configuration of several servers in one repository.

The JSON Schema of the file is made from these types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from msgspec import Meta, Struct, field

from mcpgen.diagnostics import Location
from mcpgen.ir.manifest_entries import Entry, Text, key

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


# packaging is imported on use: `generate` needs only the name of the workspace file.
_BARE_VERSION = re.compile(r"[0-9][\w.+!*]*\Z")


class VersionPin(Struct, frozen=True):
    """A range of versions of mcpgen."""

    text: str  # as written in the file
    versions: SpecifierSet

    @classmethod
    def parse(cls, text: str) -> VersionPin:
        """Parse a specifier: "==1.4.*", ">=1.4,<1.5"; a bare "1.4.*" or "1.4.2" means "==".

        Raises:
            ValueError: the specifier is invalid.
        """
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return cls(text, SpecifierSet(f"=={text}" if _BARE_VERSION.match(text) else text))
        except InvalidSpecifier as error:
            raise ValueError(str(error)) from None

    @classmethod
    def parse_requirement(cls, text: str) -> VersionPin:
        """Parse a requirement: "mcpgen>=1.4,<1.5".

        Raises:
            ValueError: the requirement is invalid, or requires another distribution.
        """
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise ValueError(str(error)) from None
        if requirement.name != "mcpgen":
            raise ValueError(f"expected a requirement of mcpgen, found {requirement.name}")
        return cls(text, requirement.specifier)

    def allows(self, version: str) -> bool:
        """Return whether `version` is in the range; pre-releases are allowed."""
        return self.versions.contains(version, prereleases=True)


WORKSPACE_FILE = "mcpgen-workspace.yaml"

Column: TypeAlias = Literal[
    "server", "api", "version", "tools", "tokens", "owner", "tests", "score"
]
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


class DefaultsEntry(Entry, frozen=True):
    """Defaults of the servers. All but `owner` are answers to questions of `mcpgen new`."""

    owner: Annotated[
        Owners | None, key("Who owns a server that no glob of `owners` matches.", "@org/team")
    ] = None
    namespace: Annotated[
        Text | None, key("The reverse domain name in `server.json`.", "com.example")
    ] = None
    python_version: Annotated[Text | None, key("The Python of the servers.", "3.13")] = None
    github_workflow: Annotated[
        Literal["no", "yes"] | None, key("Whether servers get a workflow for GitHub.", "yes")
    ] = None
    pre_commit: Annotated[
        Literal["no", "yes"] | None, key("Whether servers get hooks for pre-commit.", "no")
    ] = None

    @property
    def answers(self) -> dict[str, str]:
        """Answers to the questions of `mcpgen new`, by question."""
        values = {"namespace": self.namespace, "python_version": self.python_version}
        values |= {"github_workflow": self.github_workflow, "pre_commit": self.pre_commit}
        return {question: answer for question, answer in values.items() if answer is not None}


class FileEntry(Entry, frozen=True):
    """A file of the workspace in which mcpgen maintains a block."""

    file: Annotated[Text, key("The path of the file, relative to the workspace file.", "README.md")]


class SchemaEntry(Entry, frozen=True):
    """The file with the JSON Schema of `mcpgen.yaml`, for editors. New servers refer to it."""

    file: Annotated[
        Text, key("The path of the file, relative to the workspace file.", "mcpgen.schema.json")
    ]


class InventoryEntry(FileEntry, frozen=True):
    """The file with the table of servers, and its columns."""

    columns: Annotated[
        tuple[Column, ...],
        Meta(min_length=1),
        key("The columns of the table, from left to right.", ["server", "tools", "owner"]),
    ] = INVENTORY_COLUMNS


class WorkspaceFile(Entry, frozen=True):
    """The servers of a workspace, and their common settings."""

    version: Annotated[Literal[1], key("The version of this format.", 1)]
    mcpgen: Annotated[
        Text, key("The versions of mcpgen that may generate the servers.", "0.6.*", ">=0.6.1,<0.7")
    ]
    servers: Annotated[
        tuple[Glob, ...],
        Meta(min_length=1),
        key("Globs of the folders that have an mcpgen.yaml.", ["servers/*"]),
    ]
    runtime: Annotated[
        Text | None,
        key(
            "The requirement that each server must have in its pyproject.toml.", "mcpgen>=0.6,<0.7"
        ),
    ] = None
    defaults: Annotated[
        DefaultsEntry,
        key("What applies to servers without a value of their own.", {"owner": "@me"}),
    ] = DefaultsEntry()
    owners: Annotated[
        dict[Glob, Owners],
        key(
            "Owners by glob of server folders; the last matching glob counts.",
            {"servers/*": "@org/platform", "servers/billing": ["@org/billing", "@alice"]},
        ),
    ] = field(default_factory=dict)
    inventory: Annotated[
        InventoryEntry | None,
        key("The file in which mcpgen keeps a table of the servers.", {"file": "README.md"}),
    ] = None
    codeowners: Annotated[
        FileEntry | None,
        key("The file in which mcpgen lists the owners.", {"file": ".github/CODEOWNERS"}),
    ] = None
    gitattributes: Annotated[
        FileEntry | None,
        key("The file in which mcpgen marks generated files.", {"file": ".gitattributes"}),
    ] = None
    schema: Annotated[
        SchemaEntry | None,
        key(
            "The file in which mcpgen keeps the JSON Schema of `mcpgen.yaml`, for editors.",
            {"file": "mcpgen.schema.json"},
        ),
    ] = None


class WorkspaceSettings(Struct, frozen=True):
    """A valid workspace file; `at` finds the place of a value by its keys and indexes."""

    file: WorkspaceFile
    mcpgen: VersionPin
    runtime: VersionPin | None
    at: Callable[[tuple[str, ...]], Location]


def list_owners(owners: Owners | None) -> tuple[str, ...]:
    """Return the owners of an entry as a tuple."""
    if owners is None:
        return ()
    return (owners,) if isinstance(owners, str) else owners
