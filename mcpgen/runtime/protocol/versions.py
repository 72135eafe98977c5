"""Table of MCP revisions: the features and wire shapes of each one.

Nothing else in the runtime compares revision dates. Code asks the row of the revision that it is
serving (`call.revision.has_structured_content`), so that reading this module tells all that
differs between revisions.

Here and in all that `tools/list` needs, classes are plain and `typing` is for type checkers alone:
importing it costs a third of what starting Python does, `dataclasses` half of that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Revision:
    """One row: a published revision of MCP, and what may be on the wire in it.

    The `*_keys` are the members that the revision's schema names; an object of a newer shape is
    brought down to an older one by leaving out the others.
    """

    def __init__(
        self,
        *,
        name: str,
        is_modern: bool,  # stateless, 2026-07-28 on; the others open a session by `initialize`
        request_methods: frozenset[str],
        server_capabilities: frozenset[str],
        tool_keys: frozenset[str],
        resource_keys: frozenset[str],
        template_keys: frozenset[str],
        prompt_keys: frozenset[str],
        prompt_argument_keys: frozenset[str],
        implementation_keys: frozenset[str],
        annotation_keys: frozenset[str],  # of content and resources
        content_types: frozenset[str],
        progress_keys: frozenset[str],
        client_requests: frozenset[str],  # what a server may ask of a client
        elicitation_modes: frozenset[str],
        form_field_types: frozenset[str],
        sampling_content_types: frozenset[str],
        has_batches: bool = False,
        has_meta: bool = False,  # `_meta` on tools, resources, prompts and content
        has_structured_content: bool = False,
        has_sampling_tools: bool = False,  # that the client's model may call
        invalid_arguments_are_results: bool = False,  # `isError`, and not a protocol error
        resource_not_found: int = -32602,
        disconnect_cancels: bool = False,  # an HTTP stream that the client closes
        has_sse_polling: bool = False,  # no data in an event; a stream outlives its connection
        cacheable: frozenset[str] = frozenset(),  # methods whose results may be kept (`ttlMs`)
        may_require_input: frozenset[str] = frozenset(),  # methods with `InputRequiredResult`
    ) -> None:
        self.name = name
        self.is_modern = is_modern
        self.request_methods = request_methods
        self.server_capabilities = server_capabilities
        self.tool_keys = tool_keys
        self.resource_keys = resource_keys
        self.template_keys = template_keys
        self.prompt_keys = prompt_keys
        self.prompt_argument_keys = prompt_argument_keys
        self.implementation_keys = implementation_keys
        self.annotation_keys = annotation_keys
        self.content_types = content_types
        self.progress_keys = progress_keys
        self.client_requests = client_requests
        self.elicitation_modes = elicitation_modes
        self.form_field_types = form_field_types
        self.sampling_content_types = sampling_content_types
        self.has_batches = has_batches
        self.has_meta = has_meta
        self.has_structured_content = has_structured_content
        self.has_sampling_tools = has_sampling_tools
        self.invalid_arguments_are_results = invalid_arguments_are_results
        self.resource_not_found = resource_not_found
        self.disconnect_cancels = disconnect_cancels
        self.has_sse_polling = has_sse_polling
        self.cacheable = cacheable
        self.may_require_input = may_require_input


_LEGACY_METHODS: Final = frozenset(
    {
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "tools/call",
        "tools/list",
    }
)
_REMOVED_IN_2026: Final = frozenset(
    {"initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"}
)
_CACHEABLE: Final = frozenset(
    {
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "tools/list",
    }
)
_TOOL: Final = frozenset({"name", "description", "inputSchema"})
_RESOURCE: Final = frozenset({"uri", "name", "description", "mimeType", "size", "annotations"})
_TEMPLATE: Final = frozenset({"uriTemplate", "name", "description", "mimeType", "annotations"})
_PROMPT: Final = frozenset({"name", "description", "arguments"})
_PROMPT_ARGUMENT: Final = frozenset({"name", "description", "required"})
_IMPLEMENTATION: Final = frozenset({"name", "version"})
_CONTENT: Final = frozenset({"text", "image", "resource"})
_SAMPLING: Final = frozenset({"text", "image"})
_FIELDS: Final = frozenset({"boolean", "integer", "number", "string"})
_CAPABILITIES: Final = frozenset({"experimental", "logging", "prompts", "resources", "tools"})
_TITLE: Final = frozenset({"title"})
_TITLE_META: Final = frozenset({"title", "_meta"})
_ICONS: Final = frozenset({"icons"})

REVISION_2024_11_05: Final = Revision(
    name="2024-11-05",
    is_modern=False,
    request_methods=_LEGACY_METHODS,
    server_capabilities=_CAPABILITIES,
    tool_keys=_TOOL,
    resource_keys=_RESOURCE,
    template_keys=_TEMPLATE,
    prompt_keys=_PROMPT,
    prompt_argument_keys=_PROMPT_ARGUMENT,
    implementation_keys=_IMPLEMENTATION,
    annotation_keys=frozenset({"audience", "priority"}),
    content_types=_CONTENT,
    progress_keys=frozenset({"progress", "total"}),
    client_requests=frozenset({"ping", "roots/list", "sampling/createMessage"}),
    elicitation_modes=frozenset(),
    form_field_types=frozenset(),
    sampling_content_types=_SAMPLING,
    resource_not_found=-32002,
)

REVISION_2025_03_26: Final = Revision(
    name="2025-03-26",
    is_modern=False,
    request_methods=_LEGACY_METHODS,
    server_capabilities=_CAPABILITIES | {"completions"},
    tool_keys=_TOOL | {"annotations"},
    resource_keys=_RESOURCE,
    template_keys=_TEMPLATE,
    prompt_keys=_PROMPT,
    prompt_argument_keys=_PROMPT_ARGUMENT,
    implementation_keys=_IMPLEMENTATION,
    annotation_keys=frozenset({"audience", "priority"}),
    content_types=_CONTENT | {"audio"},
    progress_keys=frozenset({"progress", "total", "message"}),
    client_requests=frozenset({"ping", "roots/list", "sampling/createMessage"}),
    elicitation_modes=frozenset(),
    form_field_types=frozenset(),
    sampling_content_types=_SAMPLING | {"audio"},
    has_batches=True,
    resource_not_found=-32002,
)

REVISION_2025_06_18: Final = Revision(
    name="2025-06-18",
    is_modern=False,
    request_methods=_LEGACY_METHODS,
    server_capabilities=_CAPABILITIES | {"completions"},
    tool_keys=_TOOL | _TITLE_META | {"annotations", "outputSchema"},
    resource_keys=_RESOURCE | _TITLE_META,
    template_keys=_TEMPLATE | _TITLE_META,
    prompt_keys=_PROMPT | _TITLE_META,
    prompt_argument_keys=_PROMPT_ARGUMENT | _TITLE,
    implementation_keys=_IMPLEMENTATION | _TITLE,
    annotation_keys=frozenset({"audience", "priority", "lastModified"}),
    content_types=_CONTENT | {"audio", "resource_link"},
    progress_keys=frozenset({"progress", "total", "message"}),
    client_requests=frozenset(
        {"elicitation/create", "ping", "roots/list", "sampling/createMessage"}
    ),
    elicitation_modes=frozenset({"form"}),
    form_field_types=_FIELDS,
    sampling_content_types=_SAMPLING | {"audio"},
    has_meta=True,
    has_structured_content=True,
    resource_not_found=-32002,
)

REVISION_2025_11_25: Final = Revision(
    name="2025-11-25",
    is_modern=False,
    request_methods=_LEGACY_METHODS,
    server_capabilities=_CAPABILITIES | {"completions", "tasks"},
    tool_keys=_TOOL | _TITLE_META | _ICONS | {"annotations", "outputSchema", "execution"},
    resource_keys=_RESOURCE | _TITLE_META | _ICONS,
    template_keys=_TEMPLATE | _TITLE_META | _ICONS,
    prompt_keys=_PROMPT | _TITLE_META | _ICONS,
    prompt_argument_keys=_PROMPT_ARGUMENT | _TITLE,
    implementation_keys=_IMPLEMENTATION | _TITLE | _ICONS | {"description", "websiteUrl"},
    annotation_keys=frozenset({"audience", "priority", "lastModified"}),
    content_types=_CONTENT | {"audio", "resource_link"},
    progress_keys=frozenset({"progress", "total", "message"}),
    client_requests=frozenset(
        {"elicitation/create", "ping", "roots/list", "sampling/createMessage"}
    ),
    elicitation_modes=frozenset({"form", "url"}),
    form_field_types=_FIELDS | {"array"},
    sampling_content_types=_SAMPLING | {"audio"},
    has_meta=True,
    has_structured_content=True,
    has_sampling_tools=True,
    invalid_arguments_are_results=True,
    has_sse_polling=True,
    resource_not_found=-32002,
)

REVISION_2026_07_28: Final = Revision(
    name="2026-07-28",
    is_modern=True,
    request_methods=(_LEGACY_METHODS - _REMOVED_IN_2026)
    | {"server/discover", "subscriptions/listen"},
    server_capabilities=_CAPABILITIES | {"completions", "extensions"},
    tool_keys=_TOOL | _TITLE_META | _ICONS | {"annotations", "outputSchema"},
    resource_keys=_RESOURCE | _TITLE_META | _ICONS,
    template_keys=_TEMPLATE | _TITLE_META | _ICONS,
    prompt_keys=_PROMPT | _TITLE_META | _ICONS,
    prompt_argument_keys=_PROMPT_ARGUMENT | _TITLE,
    implementation_keys=_IMPLEMENTATION | _TITLE | _ICONS | {"description", "websiteUrl"},
    annotation_keys=frozenset({"audience", "priority", "lastModified"}),
    content_types=_CONTENT | {"audio", "resource_link"},
    progress_keys=frozenset({"progress", "total", "message"}),
    client_requests=frozenset({"elicitation/create", "roots/list", "sampling/createMessage"}),
    elicitation_modes=frozenset({"form", "url"}),
    form_field_types=_FIELDS | {"array"},
    sampling_content_types=_SAMPLING | {"audio"},
    has_meta=True,
    has_structured_content=True,
    has_sampling_tools=True,
    invalid_arguments_are_results=True,
    disconnect_cancels=True,
    cacheable=_CACHEABLE,
    may_require_input=frozenset({"prompts/get", "resources/read", "tools/call"}),
)

REVISIONS: Final = (  # newest first
    REVISION_2026_07_28,
    REVISION_2025_11_25,
    REVISION_2025_06_18,
    REVISION_2025_03_26,
    REVISION_2024_11_05,
)
BY_NAME: Final = {revision.name: revision for revision in REVISIONS}
LEGACY_NAMES: Final = frozenset(revision.name for revision in REVISIONS if not revision.is_modern)
ASSUMED_LEGACY: Final = REVISION_2025_03_26
"""The revision of an HTTP client that names no version and has no session."""
