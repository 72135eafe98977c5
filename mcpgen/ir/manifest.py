"""Types of `mcpgen.yaml`, the manifest of a server.

The JSON Schema of the file is made from these types with their descriptions and examples, and the
reader validates the file against it. An expression (`$inputs.name`, `$steps.find.outputs.id`) is a
runtime expression of Arazzo 1.0. It is a whole value, never part of a longer text. A text that
begins with `$` is written with `$$`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field, structs

from mcpgen.contract.code_mode import CodeBounds
from mcpgen.diagnostics import Location
from mcpgen.ir.limits import LimitsEntry
from mcpgen.ir.manifest_entries import (
    AuthorizationEntry,
    CodeEntry,
    CredentialEntry,
    Entry,
    EnvironmentName,
    HeaderName,
    HeaderText,
    HttpUrl,
    McpRevision,
    MergedEntry,
    OperationEntry,
    Origin,
    PromptEntry,
    ResourceEntry,
    ResultsEntry,
    SkillsEntry,
    SourceName,
    Text,
    Tokens,
    ToolEntry,
    ToolName,
    ToolsetEntry,
    WorkflowEntry,
    key,
)
from mcpgen.ir.portable_profile import MAX_INSTRUCTIONS

MANIFEST_SCHEMA_FILE = ".mcpgen/manifest.schema.json"  # written where the manifest names it
DEFAULT_BUDGET = 20_000  # tokens


class Icon(Entry, frozen=True):
    """An icon of the server, for clients that show one."""

    src: Annotated[
        str,
        Meta(pattern="^(https://|data:)"),
        key("The URL of the image: `https:` or `data:`.", "https://shop.example/icon.png"),
    ]
    mimeType: Annotated[  # noqa: N815  (MCP's own name)
        str, key("The media type of the image.", "image/png")
    ] = ""
    sizes: Annotated[tuple[str, ...], key("The sizes of the image.", ["48x48"], ["any"])] = ()


class HeaderEntry(Entry, frozen=True):
    """A header whose value is a setting of the server."""

    from_environment: Annotated[
        EnvironmentName, key("The environment variable that has the value.", "SHOP_TENANT")
    ]
    description: Annotated[
        str, key("What the variable is for, in `.env.example` and the README.", "Your tenant.")
    ] = ""
    default: Annotated[
        HeaderText, key("The value if the environment variable is not set.", "eu")
    ] = ""
    required: Annotated[
        bool,
        key("Whether calls fail without a value. If false, the header is then omitted.", False),
    ] = True
    secret: Annotated[
        bool | None,
        key(
            "Whether the value is masked in logs and results, like a credential. By default, if the"
            " header has the name of a credential.",
            True,
        ),
    ] = None


Headers: TypeAlias = dict[HeaderName, HeaderText | HeaderEntry]


class ServerEntry(Entry, frozen=True):
    """The name of the server, and what clients show and tell the model about it."""

    name: Annotated[
        Text,
        key(
            "The name of the server: lower-case words of letters and digits, joined by `-`.",
            "pet-shop",
        ),
    ]
    title: Annotated[str, key("The name that clients show.", "Pet shop")] = ""
    instructions: Annotated[
        str,
        Meta(max_length=MAX_INSTRUCTIONS),
        key(
            "What a model should know before it calls a tool. By default, what the document says of"
            " the API.",
            "Search with `find_pets` first; prices are in cents.",
        ),
    ] = ""
    icons: Annotated[
        tuple[Icon, ...],
        key("Icons of the server.", [{"src": "https://shop.example/icon.png"}]),
    ] = ()
    revisions: Annotated[
        tuple[McpRevision, ...],
        key("The MCP revisions that the server speaks. By default, all.", ["2025-11-25"]),
    ] = ()
    trust: Annotated[
        Literal["own"] | None,
        key(
            "`own` states that you wrote the OpenAPI documents, or checked them: their texts may"
            " then make a tool look harmless as well, such as a search by POST. By default, texts"
            " only make a tool look more dangerous.",
            "own",
        ),
    ] = None

    @property
    def is_trusted(self) -> bool:
        """Whether the texts of the documents are the owner's own."""
        return self.trust == "own"


class SecuritySchemeEntry(
    Entry,
    frozen=True,
    omit_defaults=True,
    rename={"in_": "in", "bearer_format": "bearerFormat"},
):
    """A Security Scheme Object of OpenAPI, for declared tools or for a source."""

    type: Annotated[Literal["apiKey", "http", "oauth2"], key("The kind of the scheme.", "apiKey")]
    description: Annotated[
        str, key("Where the operator gets the credential.", "A key of your account.")
    ] = ""
    name: Annotated[
        str, key("Of an `apiKey`: the header, query parameter or cookie.", "X-Api-Key")
    ] = ""
    in_: Annotated[
        Literal["", "header", "query", "cookie"],
        key("Of an `apiKey`: where it is sent.", "header"),
    ] = ""
    scheme: Annotated[
        str, key("Of `http`: the authentication scheme (RFC 9110).", "bearer", "basic")
    ] = ""
    bearer_format: Annotated[str, key("Of a bearer token: its format.", "JWT")] = ""
    flows: Annotated[
        dict[str, Any],
        key(
            "Of `oauth2`: the OAuth Flows Object.",
            {"clientCredentials": {"tokenUrl": "https://shop.example/token", "scopes": {}}},
        ),
    ] = field(default_factory=dict)


class SourceEntry(Entry, frozen=True):
    """An API description, and how to reach its API."""

    document: Annotated[
        Text, key("The path of the OpenAPI document in this project.", "openapi.yaml")
    ]
    name: Annotated[
        SourceName,
        key(
            "The name of the source, if there are several; one of them needs none. Keys of"
            " operations (`shop:GET /pets`) and settings begin with it, unless they were published"
            " without it.",
            "shop",
        ),
    ] = ""
    prefix: Annotated[SourceName, key("A prefix for the names of its tools.", "shop_")] = ""
    base_url: Annotated[
        HttpUrl,
        key(
            "The base URL of the API, instead of that of the document.", "https://api.shop.example"
        ),
    ] = ""
    credentials: Annotated[
        str,
        Meta(pattern="^[A-Z][A-Z0-9_]*$"),
        key(
            "The prefix of the environment variables for its credentials, instead of that of the"
            " server.",
            "SHOP_",
        ),
    ] = ""
    credential_origins: Annotated[
        tuple[Origin, ...],
        key(
            "Origins that may receive the credentials of this API, beside that of its main server:"
            " of servers of operations, and of token URLs. `{name}` stands for a label of the host,"
            " or a part of it.",
            ["https://auth.example.com", "https://{region}.uploads.example.com"],
        ),
    ] = ()
    overlays: Annotated[
        tuple[Text, ...],
        key("OpenAPI Overlays that correct the document, in this order.", ["overlay.yaml"]),
    ] = ()
    headers: Annotated[
        Headers,
        key(
            "Headers of every request to this API. They replace those of the server.",
            {"X-Api-Version": "2026-01-01"},
        ),
    ] = field(default_factory=dict)
    security_schemes: Annotated[
        dict[str, SecuritySchemeEntry],
        key(
            "Security schemes that the document does not declare. Operations that declare the"
            " header, the query parameter or the cookie of a scheme use it; the parameter is then"
            " no argument.",
            {"key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}},
        ),
    ] = field(default_factory=dict)
    security: Annotated[
        tuple[dict[str, tuple[str, ...]], ...] | None,
        key(
            "Alternative Security Requirement Objects for the operations without `security`. With"
            " `{}` among them, the credential is optional. `[]` states that the API needs none.",
            [{"key": []}],
            [],
        ),
    ] = None

    @property
    def label(self) -> str:
        """The name of the source in commands: its `name`, or the path of its document."""
        return self.name or self.document


class Match(Entry, frozen=True, rename={"operation_id": "operationId"}):
    """The operations that match every glob given."""

    tag: Annotated[str, key("A glob for a tag of the operation.", "pets")] = ""
    path: Annotated[str, key("A glob for the path.", "/admin/*")] = ""
    method: Annotated[str, key("A glob for the HTTP method.", "DELETE")] = ""
    operation_id: Annotated[str, key("A glob for the operationId.", "list*")] = ""
    extension: Annotated[
        str,
        key("An `x-` key that the operation has, or `x-key=value`.", "x-public", "x-tier=gold"),
    ] = ""


class SelectRule(Entry, frozen=True):
    """One `include` or one `exclude`."""

    include: Annotated[
        Text | Match | None,
        key(
            "Operations to serve: a glob for a tag, a path, an operationId or `METHOD /path`, or a"
            " mapping of globs that must all match.",
            "pets",
            {"tag": "pets", "method": "GET"},
        ),
    ] = None
    exclude: Annotated[
        Text | Match | None,
        key("Operations to leave out; written like `include`.", "DELETE /pets/{petId}"),
    ] = None


class ApartEntry(Entry, frozen=True):
    """The server is not a member of the workspace around it."""

    reason: Annotated[Text, key("Why it is not a member.", "Another team releases it.")]
    member: Annotated[Literal[False], key("Always false.", False)] = False


class Manifest(Entry, frozen=True):
    """Manifest of a server: what it exposes, and its settings (`mcpgen.yaml`)."""

    server: Annotated[
        ServerEntry,
        key("The name of the server, and what it says about itself.", {"name": "pet-shop"}),
    ]
    sources: Annotated[
        tuple[SourceEntry, ...],
        key(
            "The API descriptions; `[]` if all tools are declared or written by hand.",
            [{"document": "openapi.yaml"}],
            [],
        ),
    ]
    models: Annotated[
        bool, key("Whether handlers are typed with generated `TypedDict`s.", False)
    ] = True
    headers: Annotated[
        Headers,
        key(
            "Headers of every request: a text, or an environment variable.",
            {"X-Api-Version": "2026-01-01", "X-Tenant": {"from_environment": "SHOP_TENANT"}},
        ),
    ] = field(default_factory=dict)
    select: Annotated[
        tuple[SelectRule, ...],
        key(
            "Which operations are served. The first rule that matches an operation decides.",
            [{"exclude": {"method": "DELETE"}}, {"include": "pets"}],
        ),
    ] = ()
    operations: Annotated[
        dict[str, OperationEntry],
        key(
            "Settings of operations, by operationId or by `METHOD /path`. The keys `*`, `tag:NAME`,"
            " `effect:read`, `effect:write` and `effect:destructive` cover many operations; the"
            " closest entry wins.",
            {"listPets": {"name": "find_pets"}, "*": {"timeout_seconds": 10}},
        ),
    ] = field(default_factory=dict)
    arguments: Annotated[
        Literal["", "flat", "nested"],
        key(
            "Whether the members of a body are arguments of the tool (`flat`), or inside the"
            " argument `body` (`nested`). By default as the lock records it: `flat` in new servers."
            " Changing it is a major change.",
            "flat",
            "",
        ),
    ] = ""
    limits: Annotated[
        LimitsEntry,
        key(
            "Defaults of limits of the whole server: time-outs, sizes, concurrency. A setting in"
            " the environment replaces them, and an operation may have its own.",
            {"timeout_seconds": 20, "max_concurrent": 10},
        ),
    ] = LimitsEntry()
    results: Annotated[
        ResultsEntry,
        key("Handling of results that exceed the limit.", {"handles": True}),
    ] = ResultsEntry()
    aliases: Annotated[
        dict[ToolName, ToolName],
        key("Former names of tools, and their names today.", {"get_pets": "find_pets"}),
    ] = field(default_factory=dict)
    changelog: Annotated[
        dict[str, Literal["major", "minor", "patch", "none"]],
        key("Other levels for rules of `mcpgen changelog`.", {"description": "none"}),
    ] = field(default_factory=dict)
    tools: Annotated[
        dict[ToolName, ToolEntry],
        key(
            "Tools that are declared here, each one HTTP request.",
            {
                "find_pet": {
                    "method": "GET",
                    "url": "https://api.example/pets/7",
                    "description": "Find the pet of the day.",
                }
            },
        ),
    ] = field(default_factory=dict)
    security_schemes: Annotated[
        dict[str, SecuritySchemeEntry],
        key(
            "The security schemes of declared tools, by name.",
            {"key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}},
        ),
    ] = field(default_factory=dict)
    credentials: Annotated[
        dict[str, CredentialEntry],
        key(
            "Where the credentials of security schemes come from, by scheme (`SOURCE.SCHEME` for a"
            " source with a name). By default, from the environment.",
            {"oauth": {"from": "user"}},
            {"token": {"from": "header", "header": "X-Shop-Token"}},
        ),
    ] = field(default_factory=dict)
    authorization: Annotated[
        AuthorizationEntry,
        key(
            "Scopes that callers need, where the server authorizes them (setting `AUTH_ISSUER`).",
            {"scopes": {"effect:read": ["pets:read"], "*": ["pets:write"]}},
        ),
    ] = AuthorizationEntry()
    resources: Annotated[
        dict[str, ResourceEntry],
        key("Resources, by name.", {"terms": {"uri": "shop://terms", "text": "No returns."}}),
    ] = field(default_factory=dict)
    prompts: Annotated[
        dict[str, PromptEntry],
        key("Prompts, by name.", {"find": {"messages": [{"text": "Find a pet for me."}]}}),
    ] = field(default_factory=dict)
    workflows: Annotated[
        dict[ToolName, WorkflowEntry],
        key(
            "Tools that make several calls, by name.",
            {"buy_pet": {"steps": [{"id": "find", "operation": "listPets"}]}},
        ),
    ] = field(default_factory=dict)
    merged: Annotated[
        dict[ToolName, MergedEntry],
        key(
            "Tools that each serve several similar operations, by name.",
            {
                "list_pets": {
                    "operations": {
                        "shop": "GET /shops/{shop}/pets",
                        "owner": "GET /owners/{owner}/pets",
                    }
                }
            },
        ),
    ] = field(default_factory=dict)
    toolsets: Annotated[
        dict[str, ToolsetEntry],
        key("Tools that can be listed without the others, by name.", {"pets": {"tags": ["pets"]}}),
    ] = field(default_factory=dict)
    skills: Annotated[
        bool | SkillsEntry,
        key(
            "Which skills are generated: all, none, or those of some toolsets and workflows. Skills"
            " in the folder `skills/` of the package are served in any case.",
            False,
            {"toolsets": ["pets"], "workflows": False},
        ),
    ] = True
    targets: Annotated[
        tuple[str, ...],
        key("Clients whose limits the tools must respect.", ["claude-desktop", "cursor"]),
    ] = ()
    budget: Annotated[
        int,
        Meta(ge=1000),
        key("Maximum number of tokens for the list of tools.", DEFAULT_BUDGET),
    ] = DEFAULT_BUDGET
    output_budget: Annotated[
        Annotated[int, Meta(ge=100, le=100_000)] | None,
        key(
            "Maximum number of tokens of one output schema in the list. The deepest parts of larger"
            " ones are omitted. By default as the lock records it: 1000 in new servers, else 1500.",
            500,
        ),
    ] = None
    code: Annotated[
        bool | CodeEntry,
        key(
            "Code mode: whether clients get the search tools and `run_code`, by which a model calls"
            " several tools in one run of Python in a sandbox; or the bounds of a run. It needs"
            " `mcpgen[code]`.",
            True,
            {"max_calls": 20},
        ),
    ] = False
    workspace: Annotated[
        bool | ApartEntry,
        key(
            "Whether the workspace around the project includes it.",
            False,
            {"member": False, "reason": "Another team releases it."},
        ),
    ] = True

    @property
    def source_files(self) -> dict[tuple[str, ...], str]:
        """Paths of the sources' documents and overlays, by their place in the manifest."""
        named: dict[tuple[str, ...], str] = {}
        for number, source in enumerate(self.sources):
            of_source = ("sources", str(number))
            named[*of_source, "document"] = source.document
            for place, overlay in enumerate(source.overlays):
                named[*of_source, "overlays", str(place)] = overlay
        return named

    @property
    def code_bounds(self) -> CodeBounds | None:
        """The bounds of a run of code; None without code mode."""
        if isinstance(self.code, CodeEntry):
            return CodeBounds(**structs.asdict(self.code))
        return CodeBounds() if self.code else None

    @property
    def arazzo_documents(self) -> tuple[str, ...]:
        """Sorted paths of the Arazzo documents of workflows."""
        return tuple(sorted({entry.arazzo for entry in self.workflows.values() if entry.arazzo}))

    @property
    def apart_because(self) -> str | None:
        """Reason why the server is not a member of its workspace; None if it is a member."""
        if isinstance(self.workspace, ApartEntry):
            return self.workspace.reason
        return None if self.workspace else "it sets `workspace: false`"


class LocatedManifest(Struct, frozen=True):
    """A manifest; `locate` finds the place of a value by its keys and list indexes (as strings)."""

    manifest: Manifest
    locate: Callable[[tuple[str, ...]], Location]
    stated: Mapping[str, Any] = field(default_factory=dict)
    """The file as JSON, which distinguishes its values from defaults."""
    schema_file: str = ""
    """The JSON Schema that its comment for editors names: a path relative to it, or a URL."""

    def value_at(self, tokens: Tokens) -> Any:
        """Return the value of the file at some keys; None if there is none."""
        value: Any = self.stated
        for token in tokens:
            value = value.get(token) if isinstance(value, Mapping) else None
        return value
