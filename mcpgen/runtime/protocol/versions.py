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
    from typing import Any, Final


class Revision:
    """One row: a published revision of MCP, and what may be on the wire in it.

    The `*_keys` are the members that the revision's schema names; an object of a newer shape is
    brought down to an older one by leaving out the others.
    """

    name: str
    is_modern: bool  # stateless, 2026-07-28 on; the others open a session by `initialize`
    request_methods: frozenset[str]
    extension_methods: frozenset[str]  # of a server that declares their extension
    server_capabilities: frozenset[str]
    tool_keys: frozenset[str]
    resource_keys: frozenset[str]
    template_keys: frozenset[str]
    prompt_keys: frozenset[str]
    prompt_argument_keys: frozenset[str]
    skill_keys: frozenset[str]  # of the extension `io.modelcontextprotocol/skills`
    implementation_keys: frozenset[str]
    annotation_keys: frozenset[str]  # of content and resources
    content_types: frozenset[str]
    progress_keys: frozenset[str]
    client_requests: frozenset[str]  # what a server may ask of a client
    elicitation_modes: frozenset[str]
    form_field_types: frozenset[str]
    sampling_content_types: frozenset[str]
    has_batches: bool
    has_structured_content: bool
    has_sampling_tools: bool  # that the client's model may call
    invalid_arguments_are_results: bool  # `isError`, and not a protocol error
    resource_not_found: int
    disconnect_cancels: bool  # an HTTP stream that the client closes
    has_sse_polling: bool  # no data in an event; a stream outlives its connection
    cacheable: frozenset[str]  # methods whose results may be kept (`ttlMs`)
    may_require_input: frozenset[str]  # methods with `InputRequiredResult`

    __slots__ = tuple(__annotations__)  # read for each call, which a `__dict__` makes slower

    def __init__(self, former: Revision | None = None, **fields: Any) -> None:
        """Create a row from all fields, or from those that differ from the `former` revision."""
        if former is not None:
            fields = {name: getattr(former, name) for name in self.__slots__} | fields
        for name, value in fields.items():
            setattr(self, name, value)


# The first revision states every field, each later one only what it changed.
REVISION_2024_11_05: Final = Revision(
    name="2024-11-05",
    is_modern=False,
    request_methods=frozenset(
        """
        completion/complete initialize logging/setLevel ping prompts/get prompts/list tools/call
        tools/list resources/list resources/read resources/subscribe resources/templates/list
        resources/unsubscribe
        """.split()
    ),
    extension_methods=frozenset(),
    server_capabilities=frozenset({"experimental", "logging", "prompts", "resources", "tools"}),
    tool_keys=frozenset({"name", "description", "inputSchema"}),
    resource_keys=frozenset({"uri", "name", "description", "mimeType", "size", "annotations"}),
    template_keys=frozenset({"uriTemplate", "name", "description", "mimeType", "annotations"}),
    prompt_keys=frozenset({"name", "description", "arguments"}),
    prompt_argument_keys=frozenset({"name", "description", "required"}),
    skill_keys=frozenset(),
    implementation_keys=frozenset({"name", "version"}),
    annotation_keys=frozenset({"audience", "priority"}),
    content_types=frozenset({"text", "image", "resource"}),
    progress_keys=frozenset({"progress", "total"}),
    client_requests=frozenset({"ping", "roots/list", "sampling/createMessage"}),
    elicitation_modes=frozenset(),
    form_field_types=frozenset(),
    sampling_content_types=frozenset({"text", "image"}),
    has_batches=False,
    has_structured_content=False,
    has_sampling_tools=False,
    invalid_arguments_are_results=False,
    resource_not_found=-32002,
    disconnect_cancels=False,
    has_sse_polling=False,
    cacheable=frozenset(),
    may_require_input=frozenset(),
)

# New: batches, audio, completions as a capability, annotations of tools, messages of progress.
REVISION_2025_03_26: Final = Revision(
    REVISION_2024_11_05,
    name="2025-03-26",
    server_capabilities=REVISION_2024_11_05.server_capabilities | {"completions"},
    tool_keys=REVISION_2024_11_05.tool_keys | {"annotations"},
    content_types=REVISION_2024_11_05.content_types | {"audio"},
    progress_keys=REVISION_2024_11_05.progress_keys | {"message"},
    sampling_content_types=REVISION_2024_11_05.sampling_content_types | {"audio"},
    has_batches=True,
)

# New: elicitation by forms, structured content, resource links, titles, `_meta`. No more batches.
REVISION_2025_06_18: Final = Revision(
    REVISION_2025_03_26,
    name="2025-06-18",
    tool_keys=REVISION_2025_03_26.tool_keys | {"title", "_meta", "outputSchema"},
    resource_keys=REVISION_2025_03_26.resource_keys | {"title", "_meta"},
    template_keys=REVISION_2025_03_26.template_keys | {"title", "_meta"},
    prompt_keys=REVISION_2025_03_26.prompt_keys | {"title", "_meta"},
    prompt_argument_keys=REVISION_2025_03_26.prompt_argument_keys | {"title"},
    implementation_keys=REVISION_2025_03_26.implementation_keys | {"title"},
    annotation_keys=REVISION_2025_03_26.annotation_keys | {"lastModified"},
    content_types=REVISION_2025_03_26.content_types | {"resource_link"},
    client_requests=REVISION_2025_03_26.client_requests | {"elicitation/create"},
    elicitation_modes=frozenset({"form"}),
    form_field_types=frozenset({"boolean", "integer", "number", "string"}),
    has_batches=False,
    has_structured_content=True,
)

# New: tasks, icons, elicitation at URLs, arrays in forms, tools in sampling, SSE polling.
REVISION_2025_11_25: Final = Revision(
    REVISION_2025_06_18,
    name="2025-11-25",
    server_capabilities=REVISION_2025_06_18.server_capabilities | {"tasks"},
    tool_keys=REVISION_2025_06_18.tool_keys | {"icons", "execution"},
    resource_keys=REVISION_2025_06_18.resource_keys | {"icons"},
    template_keys=REVISION_2025_06_18.template_keys | {"icons"},
    prompt_keys=REVISION_2025_06_18.prompt_keys | {"icons"},
    implementation_keys=REVISION_2025_06_18.implementation_keys
    | {"icons", "description", "websiteUrl"},
    elicitation_modes=REVISION_2025_06_18.elicitation_modes | {"url"},
    form_field_types=REVISION_2025_06_18.form_field_types | {"array"},
    has_sampling_tools=True,
    invalid_arguments_are_results=True,
    has_sse_polling=True,
)

# Stateless: no sessions, tasks (they are an extension) and SSE polling. New: discovery, listening,
# caching, required input, extensions.
REVISION_2026_07_28: Final = Revision(
    REVISION_2025_11_25,
    name="2026-07-28",
    is_modern=True,
    request_methods=REVISION_2025_11_25.request_methods
    - {"initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"}
    | {"server/discover", "subscriptions/listen"},
    extension_methods=frozenset(
        {
            "resources/directory/read",
            "skills/get",
            "skills/list",
            "tasks/cancel",
            "tasks/get",
            "tasks/update",
        }
    ),
    server_capabilities=REVISION_2025_11_25.server_capabilities - {"tasks"} | {"extensions"},
    tool_keys=REVISION_2025_11_25.tool_keys - {"execution"},
    skill_keys=frozenset({"uri", "frontmatter", "resources"}),
    client_requests=REVISION_2025_11_25.client_requests - {"ping"},
    resource_not_found=-32602,
    disconnect_cancels=True,
    has_sse_polling=False,
    cacheable=frozenset(
        {
            "prompts/list",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "server/discover",
            "skills/get",
            "skills/list",
            "tools/list",
        }
    ),
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
