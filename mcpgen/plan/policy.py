"""The policy of a server: the manifest and the names that earlier runs published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from mcpgen.diagnostics import Location
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import LocatedManifest, Manifest, SelectRule, ServerEntry
from mcpgen.ir.workflow import Workflow


class Policy(Struct, frozen=True):
    """What the manifest says, and what earlier runs have promised.

    `issued_names` are the tool names that earlier runs gave, by operation key; they never move.
    `published_arguments` are the arguments of those tools; they keep their spelling.
    """

    intent: LocatedManifest
    issued_names: Mapping[str, str] = field(default_factory=dict)
    published_calls: Mapping[str, str] = field(default_factory=dict)  # types of calls, by key
    workflows: tuple[Workflow, ...] = ()  # of the manifest and its Arazzo documents, read
    source_names: tuple[str, ...] = ("",)  # what begins the keys of each source, in its order
    published_arguments: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def manifest(self) -> Manifest:
        """What the manifest says."""
        return self.intent.manifest


def first_policy(
    name: str,
    *,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    models: bool = True,
) -> Policy:
    """The policy of a server that is new: its name, and what the command line selects."""
    manifest = Manifest(
        server=ServerEntry(name=name),
        sources=(),
        models=models,
        select=(
            *(SelectRule(exclude=glob) for glob in exclude),
            *(SelectRule(include=glob) for glob in include),
        ),
    )
    return Policy(LocatedManifest(manifest, lambda _: Location(MANIFEST_FILE)))
