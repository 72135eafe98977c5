"""The policy of a server: the manifest and the names that earlier runs published."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.ir.listing_form import ListingForm
from mcpgen.ir.manifest import LocatedManifest, Manifest
from mcpgen.ir.workflow import Workflow


class Policy(Struct, frozen=True):
    """The manifest and the names that earlier runs published, which stay."""

    intent: LocatedManifest
    issued_names: Mapping[str, str] = field(default_factory=dict)  # of tools, by operation key
    published_calls: Mapping[str, str] = field(default_factory=dict)  # types of calls, by key
    workflows: tuple[Workflow, ...] = ()  # of the manifest and its Arazzo documents
    source_names: tuple[str, ...] = ("",)  # prefixes of operation keys, in the order of sources
    published_arguments: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by key
    published_members: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Published arguments that are members of a body, by operation key and the API's name."""
    form: ListingForm = ListingForm()
    is_new: bool = False  # the manifest is written with the server, by `mcpgen new`

    @property
    def manifest(self) -> Manifest:
        """The manifest, without locations."""
        return self.intent.manifest
