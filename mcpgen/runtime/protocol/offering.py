"""What a server offers, before any client asks: its name, its prepared lists, its switches."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mcpgen.runtime.protocol.jsonrpc import JsonObject
from mcpgen.runtime.protocol.listing import Listing
from mcpgen.runtime.protocol.request_meta import SERVER_INFO
from mcpgen.runtime.protocol.versions import REVISIONS, Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Offering:
    """Everything about the server that no client can change; one for a whole process.

    A list that is None is not offered: its methods are unknown and its capability undeclared.
    `resources` and `resource_templates` are offered together, either of them perhaps empty.
    """

    def __init__(
        self,
        info: JsonObject,  # `Implementation`, newest shape; has at least `name` and `version`
        instructions: str = "",
        tools: Listing | None = None,
        prompts: Listing | None = None,
        resources: Listing | None = None,
        resource_templates: Listing | None = None,
        offers_completions: bool = False,
        offers_logging: bool = False,
        offers_subscriptions: bool = False,  # to single resources
        changing_lists: frozenset[str] = frozenset(),  # of "tools", "prompts", "resources"
        extensions: Mapping[str, Any] = MappingProxyType({}),  # id -> settings
        revisions: tuple[Revision, ...] = REVISIONS,  # served ones, newest first
        ttl_ms: int = 3_600_000,
        cache_scope: str = "public",
    ) -> None:
        self.info = info
        # What every result of a modern revision says of the server.
        self.result_meta = {SERVER_INFO: {"name": info["name"], "version": info["version"]}}
        self.instructions = instructions
        self.tools = tools
        self.prompts = prompts
        self.resources = resources
        self.resource_templates = resource_templates
        self.offers_completions = offers_completions
        self.offers_logging = offers_logging
        self.offers_subscriptions = offers_subscriptions
        self.changing_lists = changing_lists
        self.extensions = extensions
        self.revisions = revisions
        # Whether a message's era must be found out, which every message asks.
        self.serves_both_eras = revisions[0].is_modern and not revisions[-1].is_modern
        self.ttl_ms = ttl_ms
        self.cache_scope = cache_scope

    def replaced(self, **changes: Any) -> Offering:
        """Give an offering that differs from this one in these fields."""
        fields = {**vars(self), **changes}
        del fields["serves_both_eras"], fields["result_meta"]  # which follow from others
        return Offering(**fields)

    @property
    def modern(self) -> tuple[Revision, ...]:
        """The stateless revisions that are served, newest first."""
        return tuple(revision for revision in self.revisions if revision.is_modern)

    @property
    def legacy(self) -> tuple[Revision, ...]:
        """The revisions with a handshake that are served, newest first."""
        return tuple(revision for revision in self.revisions if not revision.is_modern)

    @property
    def version_names(self) -> list[str]:
        """The served revisions' names, newest first."""
        return [revision.name for revision in self.revisions]

    def knows_resource(self, uri: str) -> bool:
        """Tell whether a listed resource has this URI, or a listed template matches it."""
        if self.resources is not None and uri in self.resources.items:
            return True
        templates = self.resource_templates.items if self.resource_templates is not None else {}
        if not templates:
            return False
        from mcpgen.runtime.protocol.uri_template import UriTemplate  # not for the cold path

        return any(UriTemplate(template).match(uri) is not None for template in templates)

    def capabilities(self, revision: Revision) -> JsonObject:
        """Declare what is served, in the words of this revision (`ServerCapabilities`)."""
        declared: JsonObject = {}
        for name, listing in (
            ("tools", self.tools),
            ("prompts", self.prompts),
            ("resources", self.resources),
        ):
            if listing is not None:
                declared[name] = {"listChanged": True} if name in self.changing_lists else {}
        if self.resources is not None and self.offers_subscriptions:
            declared["resources"]["subscribe"] = True
        if self.offers_logging:
            declared["logging"] = {}
        if self.offers_completions:
            declared["completions"] = {}
        if self.extensions:
            declared["extensions"] = dict(self.extensions)
        return {
            key: value for key, value in declared.items() if key in revision.server_capabilities
        }

    def implementation(self, revision: Revision) -> JsonObject:
        """Name the server as this revision's `Implementation` allows."""
        return {
            key: value for key, value in self.info.items() if key in revision.implementation_keys
        }
