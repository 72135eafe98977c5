"""Definition of a server: its name, its prepared lists, and the capabilities that it declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mcpgen.runtime.protocol.jsonrpc import SERVER_INFO, TASKS_EXTENSION, JsonObject
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.versions import REVISIONS, Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from mcpgen.runtime.skills.files import SkillFiles
    from mcpgen.runtime.telemetry.observer import RequestObserver

    class Views(Protocol):
        """Interface of the views of tools: `apps.views.ServerViews`."""

        def extend(
            self, definition: ServerDefinition, capabilities: JsonObject
        ) -> ServerDefinition:
            """Return the definition that a client with these capabilities sees."""

        def read(self, definition: ServerDefinition, uri: str) -> JsonObject | None:
            """Return the contents of the resource of a view; None if there is no view here."""


class ServerDefinition:
    """The part of a server that no client can change; one for a whole process.

    A server does not support a list that is None: its methods are unknown and its capability is
    not declared. `resources` and `resource_templates` are both None or both lists, perhaps empty.
    """

    __slots__ = (
        "cache_scope",
        "changing_lists",
        "extensions",
        "has_both_eras",
        "has_completions",
        "has_logging",
        "has_subscriptions",
        "info",
        "instructions",
        "methods",
        "modern_by_name",
        "observer",
        "open_skill_files",
        "prompts",
        "resource_templates",
        "resources",
        "result_meta",
        "revisions",
        "skills",
        "tools",
        "ttl_ms",
        "views",
    )

    def __init__(
        self,
        info: JsonObject,  # `Implementation`, newest shape; has at least `name` and `version`
        instructions: str = "",
        tools: PreparedList | None = None,
        prompts: PreparedList | None = None,
        resources: PreparedList | None = None,
        resource_templates: PreparedList | None = None,
        has_completions: bool = False,
        has_logging: bool = False,
        has_subscriptions: bool = False,  # to single resources
        changing_lists: frozenset[str] = frozenset(),  # of "tools", "prompts", "resources"
        extensions: Mapping[str, Any] = MappingProxyType({}),  # id -> settings
        revisions: tuple[Revision, ...] = REVISIONS,  # supported ones, newest first
        ttl_ms: int = 3_600_000,
        cache_scope: str = "public",
        observer: RequestObserver | None = None,
        skills: PreparedList | None = None,
        open_skill_files: Callable[[], SkillFiles] | None = None,
        views: Views | None = None,
    ) -> None:
        self.info = info
        # The `_meta` of every result of a modern revision.
        self.result_meta = {SERVER_INFO: {"name": info["name"], "version": info["version"]}}
        self.instructions = instructions
        self.tools = tools
        self.prompts = prompts
        self.resources = resources
        self.resource_templates = resource_templates
        self.has_completions = has_completions
        self.has_logging = has_logging
        self.has_subscriptions = has_subscriptions
        self.changing_lists = changing_lists
        self.extensions = extensions
        self.revisions = revisions
        # Computed once, since every message asks for it.
        self.has_both_eras = revisions[0].is_modern and not revisions[-1].is_modern
        self.modern_by_name = {it.name: it for it in revisions if it.is_modern}
        self.methods: dict[Revision, Mapping[str, Any]] = {}  # `methods.select_methods`
        self.ttl_ms = ttl_ms
        self.cache_scope = cache_scope
        self.observer = observer  # None without telemetry
        self.skills = skills
        self.open_skill_files = open_skill_files  # None without skills
        self.views = views  # of tools, for clients with MCP Apps; None if there are none

    def replace(self, **changes: Any) -> ServerDefinition:
        """Return a copy with these fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        for derived in ("has_both_eras", "methods", "modern_by_name", "result_meta"):
            del fields[derived]
        return ServerDefinition(**{**fields, **changes})

    def for_client(self, capabilities: JsonObject) -> ServerDefinition:
        """Return the definition that a client with these capabilities sees."""
        return self if self.views is None else self.views.extend(self, capabilities)

    @property
    def modern(self) -> tuple[Revision, ...]:
        """The supported stateless revisions, newest first."""
        return tuple(revision for revision in self.revisions if revision.is_modern)

    @property
    def legacy(self) -> tuple[Revision, ...]:
        """The supported revisions with a handshake, newest first."""
        return tuple(revision for revision in self.revisions if not revision.is_modern)

    @property
    def has_tasks(self) -> bool:
        """Whether the server declares the Tasks extension."""
        return TASKS_EXTENSION in self.extensions

    @property
    def version_names(self) -> list[str]:
        """The names of the supported revisions, newest first."""
        return [revision.name for revision in self.revisions]

    def has_resource(self, uri: str) -> bool:
        """Return whether a listed resource has this URI or a listed template matches it."""
        if self.resources is not None and uri in self.resources.items:
            return True
        templates = self.resource_templates.items if self.resource_templates is not None else {}
        if not templates:
            return False
        from mcpgen.text.uri_template import UriTemplate  # not needed to list tools

        return any(UriTemplate(template).match(uri) is not None for template in templates)

    def capabilities(self, revision: Revision) -> JsonObject:
        """Return the `ServerCapabilities` in the shape of this revision."""
        declared: JsonObject = {}
        for name, items in (
            ("tools", self.tools),
            ("prompts", self.prompts),
            ("resources", self.resources),
        ):
            if items is not None:
                declared[name] = {"listChanged": True} if name in self.changing_lists else {}
        if self.resources is not None and self.has_subscriptions:
            declared["resources"]["subscribe"] = True
        if self.has_logging:
            declared["logging"] = {}
        if self.has_completions:
            declared["completions"] = {}
        if self.extensions:
            declared["extensions"] = dict(self.extensions)
        return {
            key: value for key, value in declared.items() if key in revision.server_capabilities
        }

    def implementation(self, revision: Revision) -> JsonObject:
        """Return the `Implementation` of this server in the shape of this revision."""
        return {
            key: value for key, value in self.info.items() if key in revision.implementation_keys
        }
