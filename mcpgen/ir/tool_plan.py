"""The plan of a server package: all names, types, defaults and orders that renderers lay out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, Struct, UnsetType, field

from mcpgen.contract.code_mode import CodeBounds
from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.contract.needs import Usage
from mcpgen.diagnostics import Location
from mcpgen.ir.api import (
    Api,
    ApiSource,
    MediaType,
    Operation,
    SecurityRequirement,
    Server,
    SkippedOperation,
)
from mcpgen.ir.credentials import CredentialDestination
from mcpgen.ir.listing_form import ListingForm
from mcpgen.ir.manifest import DEFAULT_BUDGET
from mcpgen.ir.manifest_entries import EffectiveEntry, PollEntry
from mcpgen.ir.skill_plan import SkillSubject
from mcpgen.ir.workflow import WORKFLOW_PREFIX, Action, Condition, Criterion, ObjectOf, Value
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.text.identifiers import Identifier


class Toolset(Struct, frozen=True):
    """Tools that an operator can list without the others: of a tag, or as in the manifest."""

    name: str  # "code_scanning", the value of `--toolset`
    description: str
    tools: tuple[str, ...]  # names, sorted


class ToolSearch(Struct, frozen=True):
    """The tools that a server lists instead of its own: over the budget, or in code mode."""

    search: str  # the names of the tools
    describe: str
    call: str
    tools: tuple[JsonObject, ...]  # their entries in `tools/list`
    also_listed: tuple[str, ...]  # names of other tools that are listed, by the manifest
    token_cost: int  # of the whole list
    run: str = ""  # the tool that runs code; "" without code mode

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order in which a model uses them."""
        return tuple(filter(None, (self.search, self.describe, self.call, self.run)))


class HandlesPlan(Struct, frozen=True):
    """The tool that reads stored results, which were too long to be returned."""

    tool: str  # its name
    listed: JsonObject  # its entry in `tools/list`
    token_cost: int


FIRST_STATELESS_REVISION: Final = "2026-07-28"  # of MCP


class Annotation(Struct, frozen=True):
    """A Python type annotation: `source` is the expression, `models` the names to import.

    "Pet | Absent" has ("Pet",); the renderer imports `Literal`, `Any` and the like.
    """

    source: str
    models: tuple[Identifier, ...] = ()


class Argument(Struct, frozen=True):
    """An argument of a tool: a property of its input schema and a keyword of its handler."""

    name: str  # the property of `inputSchema` and the key in `arguments`
    identifier: Identifier  # the handler's keyword
    location: str  # "path", "query", "header", "cookie", "querystring", "body" or "content_type"
    wire_name: str  # name of the parameter in the API; "" for "body" and "content_type"
    required: bool
    annotation: Annotation  # without `Absent`, which an optional argument adds
    schema: JsonSchema  # complete, before its reduction to the portable profile
    default: JsonValue | UnsetType = UNSET  # for a call without the argument


class SettingUse(Struct, frozen=True):
    """A parameter, or a property of the body, whose value is a setting of the server."""

    name: str  # of the environment variable: "VERCEL_TEAM_ID"
    schema: JsonSchema  # of the value
    description: str
    required: bool  # the operation cannot be called without it
    secret: bool
    at: Location  # of the setting in the manifest
    default: JsonValue | UnsetType = UNSET  # sent if the environment has no value


class Fixed(Struct, frozen=True):
    """A value that every call sends without an argument."""

    location: str  # as in `Argument`
    wire_name: str  # of the parameter, or of the property of a "body"
    value: JsonValue  # UNSET if it comes from the environment
    setting: SettingUse | None = None
    is_default_header: bool = False  # added by the HTTP client, not by handlers
    at: Location | None = None  # of a default header in the manifest


class Pagination(Struct, frozen=True):
    """Pagination of a list. An argument of the tool, not sent, is the number of pages to join."""

    kind: str  # "link" (RFC 8288), "next", "cursor", "last_item", "page" or "offset"
    parameter: str = ""  # wire name of the cursor, page or offset parameter; "" if a URL has it
    body: tuple[str, ...] = ()  # path of `parameter` in the request body; () if it is in the query
    items: str = ""  # the response member with the items; "" if the response is the list
    within: tuple[str, ...] = ()  # path of members to the object with the member `items`
    cursor: tuple[str, ...] = ()  # path of members to the next cursor, or inside the last item
    first: int = 0  # the number of the first page or item
    size: str = ""  # wire name of the page size, beside `parameter`, if any
    more: str = ""  # the response member that is true if another page follows, if any
    is_assumed: bool = False  # from usual names; the document lacks a part
    is_first_unknown: bool = False  # whether pages count from 0 or 1
    evidence: str = ""  # the part of the document that shows it
    most: int = 20  # the most pages of one call


class JobCall(Struct, frozen=True):
    """A call about a job: of the operation that reads its state, or of the one that cancels it.

    Values of `arguments` are `$response.body#/pointer`, `$response.header.name` (of the response
    that began the job), `$inputs.keyword` (of the call), or literal texts.
    """

    tool: str
    arguments: Mapping[str, str]


class JobPlan(Struct, frozen=True):
    """A job that an operation starts, and the condition for its end.

    If a header `Location` leads to the state, `path` is that of the operation that reads it:
    "/reports/{reportId}"; the arguments of `status` are then `$path.NAME`, or `$integer.NAME`.
    """

    status: JobCall
    until: str
    values: tuple[JsonValue, ...]
    interval_seconds: float
    path: str = ""


class ResultPolicies(Struct, frozen=True):
    """Policies of the manifest for a tool: confirmation, polling, limits of results, retries."""

    confirm: str = ""  # the question to the user before a request
    poll: PollEntry | None = None  # of the operation itself
    task: str = ""  # "auto" or "required" if a call can become a task
    jobs: tuple[JobPlan, ...] = ()  # the response shows which one it started
    cancel: JobCall | None = None  # cancels the job, or the polled operation
    select: JsonObject = field(default_factory=dict)  # members to keep, nested; {} keeps all
    max_items: int | None = None
    max_bytes: int | None = None
    timeout_seconds: float | None = None
    max_concurrent: int | None = None
    attempts: int | None = None


class ViewColumn(Struct, frozen=True):
    """A member that a view shows."""

    path: tuple[str, ...]  # names of members, from an item of the list or from the object
    label: str
    type: str  # a type of JSON Schema, without null; "" if there are several
    format: str = ""  # a format of JSON Schema


class ViewPlan(Struct, frozen=True):
    """The view of a tool's results in clients with MCP Apps."""

    kind: str  # as in the manifest
    items: tuple[str, ...] = ()  # path in the structured result; () for the result itself
    columns: tuple[ViewColumn, ...] = ()  # () if all members are shown
    image_origins: tuple[str, ...] = ()


HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
"""The tool annotations of MCP that are hints for clients."""


class HintReason(Struct, frozen=True):
    """Reason for the value of a hint: the id of a rule, and the evidence in the operation."""

    rule: str
    evidence: str


MERGED_PREFIX: Final = "merged:"  # a merged tool has it where others have operation keys
MEMBER: Final = "member"  # `ToolPlan.exposed_as` of an operation of a merged tool


class MergedMember(Struct, frozen=True):
    """An operation of a merged tool."""

    choice: str  # the value of the argument that selects it
    tool: str  # the name of its own tool, which is not listed
    operation: Operation


class ToolPlan(Struct, frozen=True):
    """One tool: its entry in `tools/list`, the names in its handler, and its request."""

    name: str  # ^[a-z][a-z0-9_]{0,63}$
    function: Identifier
    call_type: Identifier  # "GetPetsPetIdCall": the type of `call_next` in an override
    title: str
    description: str
    operation: Operation  # as sent: a fixed parameter allows one value
    arguments: tuple[Argument, ...]
    """Arguments of the handler: required ones first, each group in the operation's order."""
    input_schema: JsonObject  # as listed: self-contained, inside the portable profile
    full_input_schema: JsonObject | None
    """Schema that validates the handler's arguments, if it is stricter than the listed one."""
    output_schema: JsonObject | None  # as listed: self-contained, tolerant, an object at its root
    result_key: str  # "result" if a result that is not an object is wrapped, else ""
    returns: Annotation  # "None" without a response body, "object" if the type has no class
    annotations: JsonObject  # MCP tool annotations: all four hints, and the title
    accept: tuple[str, ...]  # media types for the Accept header, best first
    token_cost: int  # estimate: a quarter of the listed JSON's bytes, rounded up
    effect: str = "write"  # or "read" or "destructive", as in the keys of the manifest
    hint_reasons: Mapping[str, HintReason] = field(default_factory=dict)  # by hint, of the rules
    body: tuple[MediaType, ...] = ()  # media types of the body, the default first
    flat_body: FlatBody | None = None  # if members of the body are arguments in the listing
    pagination: Pagination | None = None
    continuation: str = ""  # the argument for the position of the next part; "" for none
    fields: str = ""  # the argument for the members to return; "" for none
    also_answered: tuple[str, ...] = ()  # declared media types that are not in Accept
    fixed: tuple[Fixed, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()  # locations and wire names that are never sent
    members: Mapping[str, JsonValue] = field(default_factory=dict)
    """Members that are added to a body that lacks them, by wire name."""
    wire_names: Mapping[str, str] = field(default_factory=dict)  # by the listed member names
    aliases: tuple[str, ...] = ()  # former names by which it can still be called
    policies: ResultPolicies = ResultPolicies()
    view: ViewPlan | None = None
    exposed_as: str = "tool"  # or "resource", "template", "prompt", "member": not listed as a tool
    stated: EffectiveEntry = EffectiveEntry()  # its settings in the manifest
    document_name: str = ""  # its name by the current document, if the published name differs
    output_is_cut: bool = False  # whether its output schema leaves out deeper parts of the response
    scope: str = ""  # of a merged tool: the argument that selects the operation
    merges: tuple[MergedMember, ...] = ()  # of a merged tool; `operation` is one of them

    @property
    def key(self) -> str:
        """The key of its operation: "GET /pets/{petId}"; of a merged tool, "merged:list_pets"."""
        return f"{MERGED_PREFIX}{self.name}" if self.merges else self.operation.key

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that it calls: one, or those of a merged tool."""
        return tuple(member.operation for member in self.merges) or (self.operation,)

    @property
    def security(self) -> tuple[SecurityRequirement, ...]:
        """The alternative security requirements of the operation; () for a merged tool."""
        return () if self.merges else self.operation.security

    @property
    def idempotency_header(self) -> str:
        """The header with a fresh idempotency key for each request; "" for none."""
        found = (item.name for item in self.operation.parameters if item.is_generated)
        return next(found, "")


class ToolGroupPlan(Struct, frozen=True):
    """The tools of one tag: a module and a JSON file in `_generated/tools/`."""

    tag: str
    module: Identifier  # "pets" in tools/pets.py and tools/pets.json
    description: str
    tools: tuple[ToolPlan, ...]  # by name; each has a handler
    merged: tuple[ToolPlan, ...] = ()  # by name

    @property
    def listed_tools(self) -> tuple[ToolPlan, ...]:
        """The tools in `tools/list`; the others serve resources, prompts and merged tools."""
        listed = [tool for tool in self.tools if tool.exposed_as == "tool"]
        return tuple(sorted([*listed, *self.merged], key=lambda tool: tool.name))


class StepPlan(Struct, frozen=True):
    """A step that was checked against its operation; all expressions are resolved."""

    id: str
    variable: Identifier
    tool: str
    operation: str  # its key
    arguments: ObjectOf
    condition: Condition | None
    items: Value | None  # the list of `for_each`
    criteria: tuple[Criterion, ...]
    on_success: tuple[Action, ...]
    on_failure: tuple[Action, ...]


class WorkflowResult(Struct, frozen=True):
    """The class of a workflow's result; each of its members may be missing."""

    name: Identifier  # "BuyBookResult"
    members: tuple[tuple[Identifier, Annotation], ...]


class WorkflowPlan(Struct, frozen=True):
    """One workflow: its entry in `tools/list`, and its steps."""

    name: str
    function: Identifier
    call_type: Identifier  # "WorkflowBuyBookCall"
    title: str
    description: str
    arguments: tuple[Argument, ...]
    input_schema: JsonObject
    output_schema: JsonObject
    result_key: str
    returns: Annotation | WorkflowResult
    annotations: JsonObject
    steps: tuple[StepPlan, ...]
    output: Value
    token_cost: int
    continuation: str = ""  # as in `ToolPlan`

    @property
    def key(self) -> str:
        """Its key, in the place of an operation key: "workflow:buy_book"."""
        return f"{WORKFLOW_PREFIX}{self.name}"


def build_list_entry(tool: ToolPlan | WorkflowPlan) -> JsonObject:
    """Return the tool's entry in `tools/list`, without its name."""
    listed: JsonObject = {
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": tool.annotations,
    }
    if tool.output_schema is not None:
        listed["outputSchema"] = tool.output_schema
    return listed


class EnvironmentVariable(Struct, frozen=True):
    """A setting of the server, an environment variable."""

    name: str  # "PETSTORE_API_KEY"
    description: str
    required: bool = False  # most tools need it, without an alternative
    secret: bool = False
    scheme: str = ""  # its security scheme, if any
    part: str = ""  # part of the scheme: "value", "username", "password", "client_id", ...
    example: str = ""
    choices: tuple[str, ...] = ()  # the allowed values; () for any
    usage: Usage | None = None  # the tools that need it; None if it does not depend on calls
    schema: JsonSchema | None = None  # of a value in requests; None for other settings
    reads_as: JsonObject = field(default_factory=dict)  # the types that its text is parsed as

    @property
    def use(self) -> str:
        """Its usage without numbers: "needed by most tools", "optional"."""
        if self.usage is not None:
            return self.usage.describe()
        return "required" if self.required else "optional"

    @property
    def stem(self) -> str:
        """The prefix of all settings of its security scheme."""
        if self.part == "value":
            return self.name
        return self.name.removesuffix(f"_{self.part.upper()}")


class ModelPlan(Struct, frozen=True):
    """A generated `TypedDict`.

    `schema` is an object with `properties` by name and `required`. A property is one of: a simple
    `type`, an `enum`, an array with `items`, an object with only `additionalProperties`, a flat
    `anyOf` with null last, a `$ref` to `#/$defs/<class>`, or {} for any value.
    """

    schema: JsonObject
    descriptions: Mapping[str, str] = field(default_factory=dict)  # of properties: one sentence


def source_prefix(env_prefix: str, source: ApiSource) -> str:
    """Return the prefix of a source's settings; `env_prefix` is that of the server."""
    own = f"{source.name.upper()}_" if source.name else ""
    return env_prefix + (own if source.settings is None else source.settings)


class DeclaredPlan(Struct, frozen=True):
    """A resource, a resource template or a prompt that is declared without code.

    `content` has one of the keys `text`, `file` (in the package), `tool` (that returns it) and
    `messages`.
    """

    listing: JsonObject  # its entry in the list for clients
    content: JsonObject
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # to complete arguments


class ServerPlan(Struct, frozen=True):
    """The plan of a whole server package."""

    name: str  # "petstore": ^[a-z][a-z0-9]*(-[a-z0-9]+)*$
    distribution: str  # "petstore-mcp"
    package: Identifier  # "petstore_mcp"
    env_prefix: str  # "PETSTORE_"
    title: str
    description: str  # one paragraph, cleaned
    instructions: str
    api: Api  # with the served operations only
    base_servers: tuple[Server, ...]
    environment: tuple[EnvironmentVariable, ...]
    groups: tuple[ToolGroupPlan, ...]  # by module
    models: Mapping[Identifier, ModelPlan]  # by class name; {} without `has_models`
    skipped: tuple[SkippedOperation, ...] = field(default=())
    unselected: tuple[SkippedOperation, ...] = ()  # that the manifest excludes
    workflows: tuple[WorkflowPlan, ...] = ()  # by name
    budget: int = DEFAULT_BUDGET  # maximum tokens of the tool list
    toolsets: tuple[Toolset, ...] = ()  # by name
    search: ToolSearch | None = None  # replaces the tool list if it exceeds the budget
    handles: HandlesPlan | None = None  # None if results that are cut are not stored
    headers: Mapping[str, tuple[Fixed, ...]] = field(default_factory=dict)  # by source
    icons: tuple[JsonObject, ...] = ()
    revisions: tuple[str, ...] = ()  # served MCP revisions; () for all
    limits: Mapping[str, float] = field(default_factory=dict)  # other defaults, by name
    resources: tuple[DeclaredPlan, ...] = ()  # by URI; templates among them
    prompts: tuple[DeclaredPlan, ...] = ()  # by name
    destinations: tuple[CredentialDestination, ...] = ()  # by source, servers before schemes
    credential_origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Confirmed origins, by source."""
    has_asking_handlers: bool = False  # code in `handlers/` asks clients for input
    named_call_types: frozenset[str] = frozenset()  # in the user's code; others may be among them
    has_models: bool = True  # false with `--no-models`
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Scopes that callers need, by tool."""
    scope_includes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Narrower scopes that a scope includes."""
    skills: tuple[SkillSubject, ...] = ()  # to be written: that of the API first
    owner_notes: str = ""  # the instructions of the manifest
    form: ListingForm = ListingForm()
    code_bounds: CodeBounds | None = None  # None without code mode

    def servers_of(self, source: str) -> tuple[Server, ...]:
        """Return the servers of a source, for operations without servers of their own."""
        known = {item.name: item.servers for item in self.api.sources if item.name}
        return known.get(source, self.base_servers)

    @property
    def has_document(self) -> bool:
        """Whether the server has generated tools; otherwise it has only its `handlers/`."""
        return bool(self.groups)

    @property
    def extras(self) -> Mapping[str, tuple[str, ...]]:
        """Runtime extras and the tools that need them: {"seal": ("delete_pet",)}.

        Code mode needs a sandbox. With a stateless MCP revision, a tool that asks the user needs
        encrypted request state.
        """
        code = {"code": (self.search.run,)} if self.search and self.search.run else {}
        if not self._serves_stateless_clients:
            return code
        asking = {tool.name for tool in self.tools if tool.policies.confirm}
        asking |= {
            workflow.name
            for workflow in self.workflows
            if asking.intersection(step.tool for step in workflow.steps)
        }
        return code | ({"seal": tuple(sorted(asking))} if asking else {})

    @property
    def _serves_stateless_clients(self) -> bool:
        return not self.revisions or max(self.revisions) >= FIRST_STATELESS_REVISION

    @property
    def required_extras(self) -> tuple[str, ...]:
        """The extras that the tools or `handlers/` need."""
        needs_seal = self.has_asking_handlers and self._serves_stateless_clients
        by_hand = {"seal"} if needs_seal else set()
        return tuple(sorted(self.extras.keys() | by_hand))

    @property
    def token_cost(self) -> int:
        """Tokens of the complete tool list, even if search tools replace it."""
        tools: tuple[ToolPlan | WorkflowPlan, ...] = (*self.listed_tools, *self.workflows)
        own = 0 if self.handles is None else self.handles.token_cost
        return own + sum(tool.token_cost for tool in tools)

    @property
    def listed_tools(self) -> tuple[ToolPlan, ...]:
        """The tools in `tools/list`; the others serve resources, prompts and merged tools."""
        listed = (tool for group in self.groups for tool in group.listed_tools)
        return tuple(sorted(listed, key=lambda tool: tool.name))

    @property
    def merged(self) -> tuple[ToolPlan, ...]:
        """The merged tools, by name."""
        merged = (tool for group in self.groups for tool in group.merged)
        return tuple(sorted(merged, key=lambda tool: tool.name))

    @property
    def tool_count(self) -> int:
        """Number of tools, resources and prompts; a merged tool counts as one."""
        alone = sum(tool.exposed_as != MEMBER for tool in self.tools)
        return alone + len(self.merged) + len(self.workflows)

    @property
    def tools(self) -> tuple[ToolPlan, ...]:
        """All generated tools with handlers, by name; without merged tools."""
        return tuple(
            sorted((tool for group in self.groups for tool in group.tools), key=lambda t: t.name)
        )
