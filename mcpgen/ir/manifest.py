"""`mcpgen.yaml`: what a person decided about a server, key by key.

These types are the one statement of what the file may hold: its published JSON Schema is made from
them, and the reader checks by that schema. An expression (`$inputs.name`, `$steps.find.outputs.id`)
is a runtime expression as Arazzo 1.0 has them; it stands alone, never inside a longer text, and
`$$` begins a text that begins with `$`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, field

from mcpgen.diagnostics import Location

MANIFEST_SCHEMA_FILE = ".mcpgen/manifest.schema.json"  # for editors; the manifest names it
DEFAULT_BUDGET = 20_000  # tokens

Tokens: TypeAlias = tuple[str, ...]
"""Keys and list indexes that lead to a value of the manifest."""
JsonSchema: TypeAlias = dict[str, Any] | bool
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
ToolName: TypeAlias = Annotated[
    str, Meta(pattern="^[a-z][a-z0-9_]{0,47}$", description="A tool's name.")
]
OperationRef: TypeAlias = Annotated[
    str, Meta(min_length=1, description="An operationId, or a method and a path: `GET /pets`.")
]
McpRevision: TypeAlias = Literal[
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=3600)]


EFFECTS = ("read", "write", "destructive")
ALL_OPERATIONS = "*"


def is_wide(key: str) -> bool:
    """Return whether a key of `operations` covers many: `*`, `tag:NAME` or `effect:NAME`."""
    return key == ALL_OPERATIONS or key.startswith(("tag:", "effect:"))


EnvironmentName: TypeAlias = Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]{0,99}$")]
HeaderName: TypeAlias = Annotated[
    str,
    Meta(pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", description="The name of an HTTP header."),
]
HeaderText: TypeAlias = Annotated[
    str,
    Meta(
        pattern="^([!-~]([ -~]*[!-~])?)?$",
        description="The value of a header: visible ASCII characters, and spaces between them.",
    ),
]


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping of the manifest."""


class Icon(_Entry, frozen=True):
    """A picture of the server for clients that show one."""

    src: Annotated[str, Meta(pattern="^(https://|data:)", description="Where the picture is.")]
    mimeType: str = ""  # noqa: N815  (MCP's own name)
    sizes: tuple[str, ...] = ()


class HeaderEntry(_Entry, frozen=True):
    """A header whose value is a setting of the server."""

    from_environment: Annotated[
        EnvironmentName, Meta(description="The environment variable that has the value.")
    ]
    description: Annotated[
        str, Meta(description="What the variable is for, in `.env.example` and the README.")
    ] = ""
    default: Annotated[
        HeaderText, Meta(description="The value if the environment variable is not set.")
    ] = ""
    required: Annotated[
        bool,
        Meta(
            description="Whether calls fail if there is no value. If false, the header is left out."
        ),
    ] = True
    secret: Annotated[
        bool | None,
        Meta(
            description="Whether the value is a secret, to be masked in logs and results. By"
            " default, if the header has the name of a credential."
        ),
    ] = None


Headers: TypeAlias = dict[HeaderName, HeaderText | HeaderEntry]


class ServerEntry(_Entry, frozen=True):
    """What the server is called and what it says of itself."""

    name: Annotated[Text, Meta(description="Words of a-z and 0-9, joined by `-`.")]
    title: Annotated[str, Meta(description="The name that people see.")] = ""
    instructions: Annotated[
        str, Meta(max_length=2048, description="What a model should know before it calls a tool.")
    ] = ""
    icons: tuple[Icon, ...] = ()
    revisions: Annotated[
        tuple[McpRevision, ...],
        Meta(description="The MCP revisions that are served; all by default."),
    ] = ()


class SecuritySchemeEntry(
    _Entry, frozen=True, rename={"in_": "in", "bearer_format": "bearerFormat"}
):
    """A Security Scheme Object of OpenAPI, for declared tools or for a source."""

    type: Literal["apiKey", "http", "oauth2"]
    description: str = ""
    name: str = ""
    in_: Literal["", "header", "query", "cookie"] = ""
    scheme: str = ""
    bearer_format: str = ""
    flows: dict[str, Any] = {}


class SourceEntry(_Entry, frozen=True):
    """One API description, and how its API is reached."""

    document: Annotated[Text, Meta(description="Its path in this project.")]
    name: Annotated[
        str,
        Meta(
            pattern="^[a-z][a-z0-9_]*$",
            description="Names the source where there are several: in operation keys "
            "(`shop:GET /pets`) and in the environment's variables.",
        ),
    ] = ""
    prefix: Annotated[
        str, Meta(pattern="^[a-z][a-z0-9_]*$", description="Begins the names of its tools.")
    ] = ""
    base_url: Annotated[
        str, Meta(pattern="^https?://", description="Where the API is, in place of the document's.")
    ] = ""
    credentials: Annotated[
        str,
        Meta(
            pattern="^[A-Z][A-Z0-9_]*$",
            description="Begins the variables that hold its credentials, in place of the server's"
            " prefix.",
        ),
    ] = ""
    overlays: Annotated[
        tuple[Text, ...], Meta(description="OpenAPI Overlays that mend it, applied in order.")
    ] = ()
    headers: Annotated[
        Headers, Meta(description="Headers that every request to this API carries.")
    ] = {}
    security_schemes: Annotated[
        dict[str, SecuritySchemeEntry],
        Meta(
            description="Security schemes that the document does not declare. Operations that"
            " declare the header, the query parameter or the cookie of a scheme use it; the"
            " parameter is then no argument."
        ),
    ] = {}
    security: Annotated[
        tuple[dict[str, tuple[str, ...]], ...] | None,
        Meta(
            description="Alternative Security Requirement Objects for the operations without"
            " `security`: `[{token: []}]`, or `[{token: []}, {}]` if the credential is optional."
            " `[]` states that the API needs none."
        ),
    ] = None


class Match(_Entry, frozen=True, rename={"operation_id": "operationId"}):
    """Which operations a rule means: those that fit every glob given."""

    tag: str = ""
    path: str = ""
    method: str = ""
    operation_id: str = ""
    extension: Annotated[
        str, Meta(description="An `x-` key that is there and not false, or `x-key=value`.")
    ] = ""


class SelectRule(_Entry, frozen=True):
    """One `include` or one `exclude`. A glob alone is meant of tag, path, operationId and key."""

    include: Text | Match | None = None
    exclude: Text | Match | None = None


class ParameterEntry(_Entry, frozen=True):
    """What becomes of one argument of a tool."""

    name: Annotated[
        str,
        Meta(
            pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$",
            description="What the argument is called instead.",
        ),
    ] = ""
    description: str = ""
    hidden: Annotated[bool, Meta(description="Not offered, and not sent.")] = False
    fixed: Annotated[Any, Meta(description="Not offered; this is sent with every call.")] = UNSET
    default: Annotated[
        Any, Meta(description="Sent if the call, or the environment variable, gives no value.")
    ] = UNSET
    from_environment: Annotated[
        EnvironmentName | Literal[""],
        Meta(
            description="The environment variable of the server that has the value. The argument is"
            " hidden from clients, and every call sends the value.",
        ),
    ] = ""
    secret: Annotated[
        bool | None,
        Meta(
            description="Whether the value of `from_environment` is a secret, to be masked in logs"
            " and results. By default, if the parameter has the format `password` or the name of a"
            " credential."
        ),
    ] = None


class ResultEntry(_Entry, frozen=True):
    """What of a response a tool gives back."""

    select: Annotated[
        tuple[Text, ...],
        Meta(description="The members to keep: `id`, `owner.name`, `items[].id`."),
    ] = ()
    max_items: Annotated[int, Meta(ge=1)] | None = None
    max_bytes: Annotated[int, Meta(ge=256)] | None = None


class PaginateEntry(_Entry, frozen=True):
    """How many pages a call may join."""

    max_pages: Annotated[int, Meta(ge=1, le=1000)]


class PollEntry(_Entry, frozen=True):
    """Ask again until a member of the response has one of these values."""

    until: Annotated[Text, Meta(description="The member to look at: `status`, `job.state`.")]
    values: Annotated[tuple[Any, ...], Meta(min_length=1)]
    interval_seconds: Seconds = 2.0
    timeout_seconds: Seconds = 60.0


class RetryEntry(_Entry, frozen=True):
    """How often a request that may be repeated is tried."""

    attempts: Annotated[int, Meta(ge=1, le=10)]


class AnnotationsEntry(
    _Entry,
    frozen=True,
    rename={
        "read_only": "readOnlyHint",
        "destructive": "destructiveHint",
        "idempotent": "idempotentHint",
        "open_world": "openWorldHint",
    },
):
    """MCP's tool annotations, where the HTTP method says too little."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class OperationEntry(_Entry, frozen=True):
    """What one operation becomes."""

    name: ToolName | None = None
    aliases: Annotated[
        tuple[ToolName, ...], Meta(description="Names that still call it, and are not listed.")
    ] = ()
    title: str = ""
    description: Annotated[str, Meta(description="In place of the document's.")] = ""
    append: Annotated[str, Meta(description="Added to the description.")] = ""
    parameters: Annotated[
        dict[str, ParameterEntry],
        Meta(description="By argument; `body.status` is a property of the body."),
    ] = {}
    result: ResultEntry | None = None
    paginate: Literal[False] | PaginateEntry | None = None
    poll: PollEntry | None = None
    confirm: Annotated[
        str, Meta(description="What the user is asked (elicitation) before the request is sent.")
    ] = ""
    annotations: AnnotationsEntry | None = None
    timeout_seconds: Seconds | None = None
    retry: RetryEntry | None = None
    expose: Literal["tool", "resource", "template", "prompt", "off"] = "tool"


class EffectiveEntry(Struct, frozen=True):
    """What the manifest says of one operation, from all entries that cover it."""

    entry: OperationEntry = OperationEntry()
    own: Tokens = ()  # where the operation has its own entry, or would have it
    inherited: Mapping[Tokens, Tokens] = field(default_factory=dict)
    """Where a setting is stated that another entry gives, by its place inside an entry."""

    def tokens(self, *inside: str) -> Tokens:
        """Return the keys that lead to a setting in the manifest."""
        for length in range(len(inside), 0, -1):
            if inside[:length] in self.inherited:
                return (*self.inherited[inside[:length]], *inside[length:])
        return (*self.own, *inside)

    def is_inherited(self, setting: str) -> bool:
        """Return whether a setting, or a member of it, comes from an entry that covers many."""
        return any(inside[0] == setting for inside in self.inherited)


class BodyEntry(_Entry, frozen=True):
    """The body of a declared request."""

    value: Annotated[Any, Meta(description="Literals and expressions, in any structure.")]
    media_type: str = "application/json"


class ToolEntry(_Entry, frozen=True):
    """A tool of one HTTP request, without an OpenAPI document."""

    method: Annotated[str, Meta(pattern="^[A-Z]+$")]
    url: Annotated[
        str, Meta(pattern="^https?://", description="Parameters of its path stand in braces.")
    ]
    description: Text
    title: str = ""
    inputs: Annotated[JsonSchema, Meta(description="The JSON Schema of the arguments.")] = {}
    path: Annotated[dict[str, Any], Meta(description="By default the inputs so named.")] = {}
    query: dict[str, Any] = {}
    headers: dict[str, Any] = {}
    body: BodyEntry | None = None
    output: Annotated[JsonSchema | None, Meta(description="Of a JSON response.")] = None
    media_type: Annotated[str, Meta(description="Of the response.")] = "application/json"
    security: Annotated[
        tuple[str, ...], Meta(description="Names of `security_schemes`, all of them needed.")
    ] = ()
    annotations: AnnotationsEntry | None = None
    result: ResultEntry | None = None
    timeout_seconds: Seconds | None = None


class ResourceEntry(_Entry, frozen=True, rename={"media_type": "mimeType"}):
    """A resource or, with parameters in its URI, a resource template."""

    uri: Annotated[Text, Meta(description="A URI, or a URI template (RFC 6570).")]
    title: str = ""
    description: str = ""
    media_type: str = ""
    text: Annotated[str | None, Meta(description="What it holds.")] = None
    file: Annotated[
        str, Meta(description="The file that it holds: one inside the package, below `src/`.")
    ] = ""
    operation: Annotated[
        str, Meta(description="The GET operation that gives it; URI parameters are its arguments.")
    ] = ""


class PromptArgument(_Entry, frozen=True):
    """An argument of a prompt."""

    description: str = ""
    required: bool = False
    values: Annotated[tuple[str, ...], Meta(description="What completion offers.")] = ()


class PromptMessage(_Entry, frozen=True):
    """A message of a prompt; `{argument}` in its text is replaced."""

    text: Text
    role: Literal["user", "assistant"] = "user"


class PromptEntry(_Entry, frozen=True):
    """A prompt that a person can choose."""

    messages: Annotated[tuple[PromptMessage, ...], Meta(min_length=1)]
    title: str = ""
    description: str = ""
    arguments: dict[str, PromptArgument] = {}


class StepRetryEntry(_Entry, frozen=True):
    """Call a step's operation again where it failed."""

    limit: Annotated[int, Meta(ge=1, le=10, description="How many times more.")]
    after_seconds: Annotated[
        float, Meta(ge=0, le=60, description="What `Retry-After` asks for comes first.")
    ] = 1.0
    when: Annotated[
        str,
        Meta(
            description="A condition: `$statusCode == 503`. An operation that must not be done "
            "twice needs one."
        ),
    ] = ""


class StepEntry(_Entry, frozen=True):
    """One call of a workflow."""

    id: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]
    operation: OperationRef
    arguments: Annotated[
        dict[str, Any], Meta(description="The tool's arguments: literals and expressions.")
    ] = {}
    when: Annotated[
        str, Meta(description="A condition (Arazzo's simple form); without it the step is skipped.")
    ] = ""
    for_each: Annotated[str, Meta(description="A list; the step runs for each `$item`.")] = ""
    max_pages: Annotated[int, Meta(ge=1, le=1000)] | None = None
    retry: StepRetryEntry | None = None
    outputs: Annotated[
        dict[str, str], Meta(description="By name: `$response.body#/items/0/id`.")
    ] = {}


class WorkflowEntry(_Entry, frozen=True):
    """A tool of several calls."""

    description: str = ""
    title: str = ""
    inputs: JsonSchema = {}
    steps: tuple[StepEntry, ...] = ()
    output: Annotated[Any, Meta(description="Literals and expressions.")] = None
    arazzo: Annotated[
        str, Meta(description="An Arazzo 1.0 document that holds the workflow of this name.")
    ] = ""
    annotations: AnnotationsEntry | None = None


class ToolsetEntry(_Entry, frozen=True):
    """Tools that are listed together, where not all are."""

    description: str = ""
    tags: tuple[Text, ...] = ()
    tools: Annotated[
        tuple[Text, ...], Meta(description="Names of tools, or operations as under `operations`.")
    ] = ()
    listed: Annotated[
        bool, Meta(description="List them also where the budget leaves the others to a search.")
    ] = False


class ApartEntry(_Entry, frozen=True):
    """The server is no member of the workspace around it."""

    reason: Annotated[Text, Meta(description="Why it is not.")]
    member: Literal[False] = False


class Manifest(_Entry, frozen=True):
    """What a server exposes."""

    server: ServerEntry
    sources: Annotated[
        tuple[SourceEntry, ...], Meta(description="API descriptions; `[]` for none.")
    ]
    models: Annotated[bool, Meta(description="Whether handlers are typed by models.")] = True
    headers: Annotated[
        Headers, Meta(description="Headers that every request carries, to every API.")
    ] = {}
    select: Annotated[
        tuple[SelectRule, ...], Meta(description="The first rule that fits an operation decides.")
    ] = ()
    operations: Annotated[
        dict[str, OperationEntry], Meta(description="By operationId, or by `METHOD /path`.")
    ] = {}
    aliases: Annotated[
        dict[ToolName, ToolName], Meta(description="Former tool names, and what they call now.")
    ] = {}
    changelog: Annotated[
        dict[str, Literal["major", "minor", "patch", "none"]],
        Meta(description="Levels of changes, by rule of `mcpgen changelog`, where not its own."),
    ] = {}
    tools: dict[ToolName, ToolEntry] = {}
    security_schemes: dict[str, SecuritySchemeEntry] = {}
    resources: dict[str, ResourceEntry] = {}
    prompts: dict[str, PromptEntry] = {}
    workflows: dict[ToolName, WorkflowEntry] = {}
    toolsets: dict[str, ToolsetEntry] = {}
    targets: Annotated[
        tuple[str, ...], Meta(description="Clients whose limits the tools must fit.")
    ] = ()
    budget: Annotated[int, Meta(ge=1000, description="Tokens that the list of tools may cost.")] = (
        DEFAULT_BUDGET
    )
    workspace: Annotated[
        bool | ApartEntry,
        Meta(description="Whether the workspace around it takes care of this server."),
    ] = True

    @property
    def source_files(self) -> dict[tuple[str, ...], str]:
        """The documents of the sources and their overlays, by where the manifest names them."""
        named: dict[tuple[str, ...], str] = {}
        for number, source in enumerate(self.sources):
            of_source = ("sources", str(number))
            named[*of_source, "document"] = source.document
            for place, overlay in enumerate(source.overlays):
                named[*of_source, "overlays", str(place)] = overlay
        return named

    @property
    def arazzo_documents(self) -> tuple[str, ...]:
        """The paths of the documents that workflows are read from."""
        return tuple(sorted({entry.arazzo for entry in self.workflows.values() if entry.arazzo}))

    @property
    def apart_because(self) -> str | None:
        """Why the server is no member of the workspace around it; None where it is one."""
        if isinstance(self.workspace, ApartEntry):
            return self.workspace.reason
        return None if self.workspace else "it says `workspace: false`"


class LocatedManifest(Struct, frozen=True):
    """A manifest with a way back to its text; `locate` takes keys and list indexes as texts."""

    manifest: Manifest
    locate: Callable[[tuple[str, ...]], Location]
    stated: Mapping[str, Any] = field(default_factory=dict)
    """The file as JSON, which tells what it states from what is a default."""

    def value_at(self, tokens: Tokens) -> Any:
        """Return the value that the file states at some keys; None if there is none."""
        value: Any = self.stated
        for token in tokens:
            value = value.get(token) if isinstance(value, Mapping) else None
        return value
