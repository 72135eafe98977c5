"""Entries of `mcpgen.yaml`: operations, and declared tools, resources, prompts and workflows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from mcpgen.contract.code_mode import DEFAULT_BOUNDS
from mcpgen.ir.portable_profile import PROPERTY_NAME, TOOL_NAME


def key(description: str, *examples: Any) -> Meta:
    """Return the description of a key for editors. Each example is a value of the key."""
    return Meta(description=description, examples=list(examples))


Tokens: TypeAlias = tuple[str, ...]
"""Keys and list indexes that lead to a value of the manifest."""
JsonSchema: TypeAlias = dict[str, Any] | bool
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
ToolName: TypeAlias = Annotated[str, Meta(pattern=f"^{TOOL_NAME}$")]
McpRevision: TypeAlias = Literal[
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=3600)]
PageCount: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]

EnvironmentName: TypeAlias = Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]{0,99}$")]
HeaderName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
OptionalHeaderName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]*$")]
HeaderText: TypeAlias = Annotated[str, Meta(pattern="^([!-~]([ -~]*[!-~])?)?$")]
ScopeName: TypeAlias = Annotated[str, Meta(pattern=r"^[!#-\[\]-~]+$")]
"""A scope (RFC 6749, section 3.3)."""
SourceName: TypeAlias = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]
ArgumentName: TypeAlias = Annotated[str, Meta(pattern=f"^{PROPERTY_NAME}$")]
Origin: TypeAlias = Annotated[str, Meta(pattern=r"^https?://[^\s/?#@]+/?$")]
HttpUrl: TypeAlias = Annotated[str, Meta(pattern="^https?://")]


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping of the manifest."""


class CredentialEntry(Entry, frozen=True, rename={"from_": "from"}):
    """Source of the credential for a security scheme."""

    from_: Annotated[
        Literal["environment", "header", "exchange", "user"],
        key(
            "`environment`: a setting of the server, one credential for all callers. `header`: a"
            " header of the caller's request. `exchange`: the caller's access token, exchanged for"
            " one of the API (RFC 8693). `user`: each user connects an account (OAuth 2).",
            "header",
        ),
    ] = "environment"
    header: Annotated[
        OptionalHeaderName,
        key(
            "Of `header`: the header of MCP requests that has the caller's credential.",
            "X-Shop-Token",
        ),
    ] = ""


class AuthorizationEntry(Entry, frozen=True):
    """Scopes that callers need, where the server authorizes them."""

    scopes: Annotated[
        dict[str, tuple[ScopeName, ...]],
        key(
            "Scopes for calls of operations, by operationId, `METHOD /path`, `tag:NAME`,"
            " `effect:read`, `effect:write`, `effect:destructive` or `*`. The closest entry wins;"
            " the scopes of several tags of an operation are all required.",
            {"effect:read": ["pets:read"], "tag:admin": ["pets:admin"]},
        ),
    ] = field(default_factory=dict)
    includes: Annotated[
        dict[ScopeName, tuple[ScopeName, ...]],
        key(
            "Narrower scopes that a scope includes: a caller with this scope needs no others.",
            {"pets:admin": ["pets:read", "pets:write"]},
        ),
    ] = field(default_factory=dict)


EFFECTS = ("read", "write", "destructive")
ALL_OPERATIONS = "*"
KEY_METHODS = ("PATCH", "POST")
"""Methods whose requests become safe to retry with an idempotency key."""


def is_bulk_key(key: str) -> bool:
    """Return whether a key of `operations` covers many: `*`, `tag:NAME` or `effect:NAME`."""
    return key == ALL_OPERATIONS or key.startswith(("tag:", "effect:"))


class ParameterEntry(Entry, frozen=True):
    """Changes to one argument of a tool."""

    name: Annotated[ArgumentName, key("Another name.", "pet_name")] = ""
    description: Annotated[
        str, key("The description, instead of that of the document.", "The name of the pet.")
    ] = ""
    hidden: Annotated[
        bool, key("Whether the argument is hidden from clients, and never sent.", True)
    ] = False
    fixed: Annotated[
        Any,
        key("A value that every call sends. The argument is hidden from clients.", "json", 20),
    ] = UNSET
    default: Annotated[
        Any,
        key("The value if the call, or the environment variable, gives none.", 20, "available"),
    ] = UNSET
    from_environment: Annotated[
        EnvironmentName,
        key(
            "An environment variable of the server. The argument is hidden from clients, and every"
            " call sends the value of the variable.",
            "SHOP_TEAM_ID",
        ),
    ] = ""
    secret: Annotated[
        bool | None,
        key(
            "Whether the value of `from_environment` is masked in logs and results, like a"
            " credential. By default, if the parameter has the format `password` or the name of a"
            " credential.",
            True,
        ),
    ] = None


class ResultEntry(Entry, frozen=True):
    """The part of a response that a tool returns."""

    select: Annotated[
        tuple[Text, ...],
        key("The members to keep.", ["id", "owner.name", "items[].id"]),
    ] = ()
    max_items: Annotated[
        Annotated[int, Meta(ge=1)] | None, key("Maximum number of items of a list.", 50)
    ] = None
    max_bytes: Annotated[
        Annotated[int, Meta(ge=256)] | None, key("Maximum number of bytes of the result.", 20_000)
    ] = None


class PaginateEntry(Entry, frozen=True):
    """Limit of the pages of a list that one call may read."""

    max_pages: Annotated[PageCount, key("Maximum number of pages that one call reads.", 5)]


class PollEntry(Entry, frozen=True):
    """Repeat the request until a member of the response has one of some values."""

    until: Annotated[Text, key("The member to compare.", "status", "job.state")]
    values: Annotated[
        tuple[Any, ...],
        Meta(min_length=1),
        key("The values that end the wait.", ["done", "failed"]),
    ]
    interval_seconds: Annotated[Seconds, key("The time between two requests.", 2)] = 2.0
    timeout_seconds: Annotated[
        Seconds, key("The longest wait. A task waits until its time to live is over.", 60)
    ] = 60.0
    operation: Annotated[
        str,
        key(
            "The operation that reads the state, if it is not this one: this one begins a job."
            " Clients that support tasks wait for the end of the job, and others get the response.",
            "GET /reports/{reportId}",
        ),
    ] = ""
    arguments: Annotated[
        dict[str, str],
        key(
            "Arguments of `operation` and `cancel`, by name: `$response.body#/pointer`,"
            " `$response.header.name`, `$inputs.name` or a text. By default, what a link of the"
            " document says, or the argument of the same name.",
            {"reportId": "$response.body#/id"},
        ),
    ] = field(default_factory=dict)
    cancel: Annotated[
        str,
        key("The operation that cancels the job, for a task that is cancelled.", "cancelReport"),
    ] = ""


class RetryEntry(Entry, frozen=True):
    """Limit of the attempts for a request that may be repeated."""

    attempts: Annotated[
        int, Meta(ge=1, le=10), key("Maximum number of requests, the first one included.", 3)
    ]


class AnnotationsEntry(
    Entry,
    frozen=True,
    omit_defaults=True,
    rename={
        "read_only": "readOnlyHint",
        "destructive": "destructiveHint",
        "idempotent": "idempotentHint",
        "open_world": "openWorldHint",
    },
):
    """The tool annotations of MCP, in place of those that mcpgen decides by rules."""

    read_only: Annotated[bool | None, key("Whether the tool changes nothing.", True)] = None
    destructive: Annotated[
        bool | None, key("Whether the tool may overwrite or delete something.", False)
    ] = None
    idempotent: Annotated[
        bool | None, key("Whether a second call with the same arguments changes nothing.", True)
    ] = None
    open_world: Annotated[
        bool | None, key("Whether the tool reaches systems outside of this server.", True)
    ] = None


ViewKind: TypeAlias = Literal["table", "record", "chart", "form", "gallery"]


class ViewEntry(Entry, frozen=True):
    """View of an operation's results, for clients with MCP Apps."""

    kind: Annotated[
        ViewKind,
        key(
            "`table`: a list of objects. `record`: one object. `chart`: a list as lines or bars."
            " `gallery`: a list of pictures. `form`: the arguments of a call, to check, change and"
            " send again.",
            "chart",
        ),
    ]
    items: Annotated[
        str,
        key("The member that has the list or the object. By default, the only list.", "data"),
    ] = ""
    members: Annotated[
        tuple[Text, ...],
        key(
            "The members to show, in this order. The first one of a `chart` is its horizontal axis,"
            " the first one of a `gallery` is the picture.",
            ["created_at", "amount", "customer.name"],
        ),
    ] = ()
    image_origins: Annotated[
        tuple[Origin, ...],
        key(
            "Of a `gallery`: where clients may load pictures from. Without it, only pictures that"
            " are `data:` URLs are shown, and others are links.",
            ["https://images.shop.example"],
        ),
    ] = ()


View: TypeAlias = ViewKind | ViewEntry


class OperationEntry(Entry, frozen=True):
    """The settings of one operation, or of many."""

    name: Annotated[ToolName | None, key("The name of the tool.", "find_pets")] = None
    aliases: Annotated[
        tuple[ToolName, ...],
        key("Other names by which clients can call the tool. They are not listed.", ["get_pets"]),
    ] = ()
    title: Annotated[str, key("The title that clients show.", "Find pets")] = ""
    description: Annotated[
        str, key("The description, instead of that of the document.", "Find pets by status.")
    ] = ""
    append: Annotated[
        str, key("A text to add to the description.", "Ask for at most ten pets.")
    ] = ""
    parameters: Annotated[
        dict[str, ParameterEntry],
        key(
            "What becomes of the arguments, by name. `body.status` is a property of the body.",
            {"limit": {"default": 20}, "body.status": {"fixed": "new"}},
        ),
    ] = field(default_factory=dict)
    arguments: Annotated[
        Literal["", "flat", "nested"],
        key(
            "Whether the members of the body are arguments (`flat`), or inside the argument `body`"
            " (`nested`). By default as `arguments` of the server says.",
            "nested",
            "",
        ),
    ] = ""
    result: Annotated[
        ResultEntry | None,
        key("The part of the response that the tool returns.", {"select": ["items[].id"]}),
    ] = None
    paginate: Annotated[
        Literal[False] | PaginateEntry | None,
        key(
            "Limit of the pages of a list that one call may read. `false` reads one page only.",
            {"max_pages": 5},
            False,
        ),
    ] = None
    poll: Annotated[
        PollEntry | None,
        key(
            "Repeat the request until the response shows one of these values.",
            {"until": "status", "values": ["done", "failed"]},
        ),
    ] = None
    task: Annotated[
        Literal["", "auto", "required", "never"],
        key(
            "Whether a call can become a task (extension `io.modelcontextprotocol/tasks`): `auto`"
            " for clients that support tasks, `required` to refuse all others. By default `auto`"
            " where `poll` or the document describes a job, else `never`.",
            "auto",
            "never",
        ),
    ] = ""
    confirm: Annotated[
        str,
        key(
            "A question for the user (elicitation). Nothing is sent before the user agrees.",
            "Delete this pet?",
        ),
    ] = ""
    annotations: Annotated[
        AnnotationsEntry | None,
        key("The annotations of the tool.", {"readOnlyHint": True}),
    ] = None
    timeout_seconds: Annotated[
        Seconds | None, key("Maximum time for one call of the API, retries included.", 30)
    ] = None
    max_concurrent: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | None,
        key("Maximum number of concurrent calls of the operation in each process. Others wait.", 2),
    ] = None
    retry: Annotated[
        RetryEntry | None,
        key("Limit of the attempts for a request that may be repeated.", {"attempts": 3}),
    ] = None
    idempotency_header: Annotated[
        OptionalHeaderName | None,
        key(
            "The header that gets a fresh key for each POST and PATCH, the same for its retries. By"
            ' default, the one that the document declares; `""` for none.',
            "Idempotency-Key",
            "",
        ),
    ] = None
    view: Annotated[
        View | None,
        key(
            "The view of a result, for clients with MCP Apps. Others get the same text and data as"
            " without it.",
            "table",
            {"kind": "chart", "members": ["day", "visits"]},
        ),
    ] = None
    expose: Annotated[
        Literal["tool", "resource", "template", "prompt", "off"],
        key("What the operation is served as. `off` leaves it out.", "resource", "off"),
    ] = "tool"


class EffectiveEntry(Struct, frozen=True):
    """The merged settings of one operation, from all manifest entries that cover it."""

    entry: OperationEntry = OperationEntry()
    own: Tokens = ()  # the place of the operation's own entry, existing or not
    inherited: Mapping[Tokens, Tokens] = field(default_factory=dict)
    """Places of settings from other entries: keys inside the entry -> keys in the manifest."""

    def tokens(self, *inside: str) -> Tokens:
        """Return the keys that lead to a setting in the manifest."""
        for length in range(len(inside), 0, -1):
            if inside[:length] in self.inherited:
                return (*self.inherited[inside[:length]], *inside[length:])
        return (*self.own, *inside)

    def is_inherited(self, setting: str) -> bool:
        """Return whether a setting, or a member of it, comes from an entry that covers many."""
        return any(inside[0] == setting for inside in self.inherited)


class BodyEntry(Entry, frozen=True):
    """The body of the request of a declared tool."""

    value: Annotated[
        Any, key("The body: literals and expressions, in any structure.", {"name": "$inputs.name"})
    ]
    media_type: Annotated[str, key("The media type of the body.", "application/json")] = (
        "application/json"
    )


class ToolEntry(Entry, frozen=True):
    """A tool of one HTTP request, without an OpenAPI document."""

    method: Annotated[str, Meta(pattern="^[A-Z]+$"), key("The HTTP method.", "GET")]
    url: Annotated[
        HttpUrl,
        key("The URL, with parameters of the path in braces.", "https://api.example/pets/{id}"),
    ]
    description: Annotated[Text, key("What the tool does.", "Find a pet by its number.")]
    title: Annotated[str, key("The title that clients show.", "Find a pet")] = ""
    inputs: Annotated[
        JsonSchema,
        key(
            "The JSON Schema of the arguments.",
            {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        ),
    ] = field(default_factory=dict)
    path: Annotated[
        dict[str, Any],
        key("The parameters of the path. By default, the inputs so named.", {"id": "$inputs.id"}),
    ] = field(default_factory=dict)
    query: Annotated[
        dict[str, Any], key("The query parameters.", {"q": "$inputs.text", "limit": 10})
    ] = field(default_factory=dict)
    headers: Annotated[
        dict[str, Any], key("The headers.", {"Accept-Language": "$inputs.language"})
    ] = field(default_factory=dict)
    body: Annotated[
        BodyEntry | None, key("The body of the request.", {"value": {"name": "$inputs.name"}})
    ] = None
    output: Annotated[
        JsonSchema | None,
        key(
            "The JSON Schema of a JSON response.",
            {"type": "object", "properties": {"name": {"type": "string"}}},
        ),
    ] = None
    media_type: Annotated[
        str, key("The media type of the response.", "application/json", "text/plain")
    ] = "application/json"
    security: Annotated[
        tuple[str, ...], key("Names of `security_schemes`. All of them are needed.", ["key"])
    ] = ()
    annotations: Annotated[
        AnnotationsEntry | None, key("The annotations of the tool.", {"readOnlyHint": True})
    ] = None
    result: Annotated[
        ResultEntry | None,
        key("The part of the response that the tool returns.", {"max_items": 50}),
    ] = None
    timeout_seconds: Annotated[
        Seconds | None, key("Maximum time for one call of the API, retries included.", 30)
    ] = None
    view: Annotated[
        View | None, key("The view of a result, for clients with MCP Apps.", "table")
    ] = None


class ResourceEntry(Entry, frozen=True, rename={"media_type": "mimeType"}):
    """A resource or, with parameters in its URI, a resource template."""

    uri: Annotated[
        Text, key("A URI, or a URI template (RFC 6570).", "shop://terms", "shop://pets/{pet_id}")
    ]
    title: Annotated[str, key("The title that clients show.", "Terms")] = ""
    description: Annotated[str, key("What it contains.", "The terms of the shop.")] = ""
    media_type: Annotated[str, key("Its media type.", "text/markdown")] = ""
    text: Annotated[str | None, key("Its contents.", "Pets cannot be returned.")] = None
    file: Annotated[
        str, key("The file with its contents, inside the package below `src/`.", "data/terms.md")
    ] = ""
    operation: Annotated[
        str,
        key(
            "The GET operation that returns its contents. Parameters of the URI are its arguments.",
            "getPet",
        ),
    ] = ""


class PromptArgument(Entry, frozen=True):
    """An argument of a prompt."""

    description: Annotated[str, key("What the argument means.", "The kind of the pet.")] = ""
    required: Annotated[bool, key("Whether the prompt needs it.", True)] = False
    values: Annotated[
        tuple[str, ...], key("The values that completion suggests.", ["cat", "dog"])
    ] = ()


class PromptMessage(Entry, frozen=True):
    """A message of a prompt."""

    text: Annotated[
        Text, key("The text. `{argument}` is replaced by its value.", "Find a {kind} for me.")
    ]
    role: Annotated[Literal["user", "assistant"], key("Who says it.", "user")] = "user"


class PromptEntry(Entry, frozen=True):
    """A prompt that the user can choose."""

    messages: Annotated[
        tuple[PromptMessage, ...],
        Meta(min_length=1),
        key("The messages.", [{"text": "Find a {kind} for me."}]),
    ]
    title: Annotated[str, key("The title that clients show.", "Find a pet")] = ""
    description: Annotated[str, key("What the prompt is for.", "Look for a new pet.")] = ""
    arguments: Annotated[
        dict[str, PromptArgument], key("The arguments.", {"kind": {"required": True}})
    ] = field(default_factory=dict)


class StepRetryEntry(Entry, frozen=True):
    """Call the operation of a step again after it failed."""

    limit: Annotated[int, Meta(ge=1, le=10), key("Maximum number of further calls.", 3)]
    after_seconds: Annotated[
        float,
        Meta(ge=0, le=60),
        key("The time before the next call. `Retry-After` of the response comes first.", 2),
    ] = 1.0
    when: Annotated[
        str,
        key(
            "A condition for it. Required for an operation that must not be repeated.",
            "$statusCode == 503",
        ),
    ] = ""


class StepEntry(Entry, frozen=True):
    """One call of a workflow."""

    id: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$"), key("The name of the step.", "find")]
    operation: Annotated[Text, key("An operationId, or a method and a path.", "GET /pets")]
    arguments: Annotated[
        dict[str, Any],
        key("The arguments of the tool: literals and expressions.", {"limit": "$inputs.count"}),
    ] = field(default_factory=dict)
    when: Annotated[
        str,
        key(
            "A condition (a simple condition of Arazzo). If it is false, the step is skipped.",
            "$steps.find.outputs.count > 0",
        ),
    ] = ""
    for_each: Annotated[
        str, key("A list. The step runs for each `$item` of it.", "$steps.find.outputs.ids")
    ] = ""
    max_pages: Annotated[
        PageCount | None, key("Maximum number of pages that the step reads.", 5)
    ] = None
    retry: Annotated[
        StepRetryEntry | None,
        key("Call the operation again after it failed.", {"limit": 3}),
    ] = None
    outputs: Annotated[
        dict[str, str],
        key("Values for later steps, by name.", {"id": "$response.body#/items/0/id"}),
    ] = field(default_factory=dict)


class WorkflowEntry(Entry, frozen=True):
    """A tool that makes several calls."""

    description: Annotated[str, key("What the tool does.", "Find a pet and buy it.")] = ""
    title: Annotated[str, key("The title that clients show.", "Buy a pet")] = ""
    inputs: Annotated[
        JsonSchema,
        key(
            "The JSON Schema of the arguments.",
            {"type": "object", "properties": {"count": {"type": "integer"}}},
        ),
    ] = field(default_factory=dict)
    steps: Annotated[
        tuple[StepEntry, ...],
        key("The calls, in their order.", [{"id": "find", "operation": "listPets"}]),
    ] = ()
    output: Annotated[
        Any,
        key("The result: literals and expressions.", {"id": "$steps.find.outputs.id"}),
    ] = None
    arazzo: Annotated[
        str,
        key(
            "An Arazzo 1.0 document that has the workflow of this name, instead of `steps`.",
            "workflows.arazzo.yaml",
        ),
    ] = ""
    annotations: Annotated[
        AnnotationsEntry | None, key("The annotations of the tool.", {"destructiveHint": False})
    ] = None


class MergedEntry(Entry, frozen=True):
    """One tool of several similar operations. An argument selects the operation of a call."""

    operations: Annotated[
        dict[Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,63}$")], Text],
        Meta(min_length=2),
        key(
            "The operations, as under `operations`, by the value of the argument that selects them."
            " They are no tools of their own any more.",
            {"shop": "GET /shops/{shop}/pets", "owner": "GET /owners/{owner}/pets"},
        ),
    ]
    argument: Annotated[
        Annotated[str, Meta(pattern=f"^{PROPERTY_NAME}$")],
        key("The name of the argument that selects the operation.", "level"),
    ] = "scope"
    title: Annotated[str, key("The title that clients show.", "List pets")] = ""
    description: Annotated[
        str,
        key("What the tool does, before the list of its operations.", "List pets, newest first."),
    ] = ""


class ToolsetEntry(Entry, frozen=True):
    """Tools that clients can list without the others (`--toolset NAME`)."""

    description: Annotated[str, key("What its tools are for.", "Look for pets.")] = ""
    tags: Annotated[tuple[Text, ...], key("Tags of operations.", ["pets"])] = ()
    tools: Annotated[
        tuple[Text, ...],
        key(
            "Names of tools, or operations as under `operations`.", ["find_pets", "GET /pets/{id}"]
        ),
    ] = ()
    listed: Annotated[
        bool,
        key("Whether its tools are also listed if the others have to be searched for.", True),
    ] = False


class ResultsEntry(Entry, frozen=True):
    """Handling of results that exceed the limit."""

    handles: Annotated[
        bool,
        key(
            "Whether a long result is stored for a limited time under a handle, by which a further"
            " tool and a resource read the rest. `mcpgen new` writes `true` where that tool"
            " takes at most 5 % of the tool list.",
            True,
        ),
    ] = False


class SkillsEntry(Entry, frozen=True):
    """The skills that are generated: texts that tell agents how to work with the tools."""

    api: Annotated[bool, key("Whether there is one for the API as a whole.", False)] = True
    toolsets: Annotated[
        bool | tuple[Text, ...],
        key("Whether each toolset has one, or the toolsets that have one.", ["pets"], False),
    ] = True
    workflows: Annotated[
        bool | tuple[ToolName, ...],
        key("Whether each workflow has one, or the workflows that have one.", ["buy_pet"], False),
    ] = True


class CodeEntry(Entry, frozen=True):
    """Bounds of code mode."""

    max_calls: Annotated[
        int,
        Meta(ge=1, le=1000),
        key("Maximum number of tool calls in one run.", 20),
    ] = DEFAULT_BOUNDS.max_calls
    max_seconds: Annotated[
        float,
        Meta(gt=0, le=3600),
        key("Maximum duration of a run, without the time in which the user answers.", 120),
    ] = DEFAULT_BOUNDS.max_seconds
    max_compute_seconds: Annotated[
        float,
        Meta(gt=0, le=600),
        key("Maximum computing time of a run, without the time of its calls.", 5),
    ] = DEFAULT_BOUNDS.max_compute_seconds
    max_memory_mb: Annotated[
        int, Meta(ge=16, le=4096), key("Maximum memory of one run, in MiB.", 128)
    ] = DEFAULT_BOUNDS.max_memory_mb
    max_runs: Annotated[
        int, Meta(ge=1, le=256), key("Maximum number of concurrent runs in each process.", 8)
    ] = DEFAULT_BOUNDS.max_runs
    max_runs_per_caller: Annotated[
        Annotated[int, Meta(ge=1, le=256)] | UnsetType,
        key("Maximum number of these runs for one caller over HTTP. By default, half of them.", 2),
    ] = UNSET
