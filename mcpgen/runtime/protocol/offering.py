"""What a server offers, before any client asks: its name, its prepared lists, its switches."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcpgen.runtime.protocol.jsonrpc import JsonObject
from mcpgen.runtime.protocol.listing import Listing
from mcpgen.runtime.protocol.versions import REVISIONS, Revision


@dataclass(frozen=True, slots=True, eq=False)
class Offering:
    """Everything about the server that no client can change; one for a whole process.

    A list that is None is not offered: its methods are unknown and its capability undeclared.
    """

    info: JsonObject  # `Implementation`, newest shape; has at least `name` and `version`
    instructions: str = ""
    tools: Listing | None = None
    prompts: Listing | None = None
    resources: Listing | None = None
    resource_templates: Listing | None = None
    offers_completions: bool = False
    offers_logging: bool = False
    offers_subscriptions: bool = False  # to single resources
    changing_lists: frozenset[str] = frozenset()  # of "tools", "prompts", "resources"
    extensions: JsonObject = field(default_factory=dict)  # id -> settings
    revisions: tuple[Revision, ...] = REVISIONS  # served ones, newest first
    ttl_ms: int = 3_600_000
    cache_scope: str = "public"

    @property
    def modern(self) -> tuple[Revision, ...]:
        """The stateless revisions that are served, newest first."""
        return tuple(revision for revision in self.revisions if revision.is_modern)

    @property
    def legacy(self) -> tuple[Revision, ...]:
        """The revisions with a handshake that are served, newest first."""
        return tuple(revision for revision in self.revisions if not revision.is_modern)
