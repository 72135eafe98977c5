"""What will be served and written: every name, type, default and order is decided here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, Struct, UnsetType, field

from mcpgen.diagnostics import Location
from mcpgen.ir.api import (
    Api,
    ApiSource,
    LeftOut,
    MediaType,
    Operation,
    SecurityRequirement,
    Server,
)
from mcpgen.ir.identifiers import Identifier
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.ir.manifest import DEFAULT_BUDGET, EffectiveEntry, PollEntry
from mcpgen.ir.tool_search import ToolSearch, Toolset
from mcpgen.ir.workflow import (
    WORKFLOW_PREFIX,
    Action,
    Condition,
    Criterion,
    ObjectOf,
    Value,
)
from mcpgen.runtime.needs import Usage

FIRST_STATELESS_REVISION: Final = "2026-07-28"  # of MCP


class Annotation(Struct, frozen=True):
    """A Python type, spelled: `source` is the expression, `models` the names that it imports.

    "Pet | Absent" with ("Pet",); built-in types and `Literal`, `Any` are found by the renderer.
    """

    source: str
    models: tuple[Identifier, ...] = ()


class Argument(Struct, frozen=True):
    """One property of a tool's input and one keyword of its handler."""

    name: str  # the property of `inputSchema` and the key in `arguments`
    identifier: Identifier  # the handler's keyword
    location: str  # "path", "query", "header", "cookie", "querystring", "body" or "content_type"
    wire_name: str  # what the parameter is called upstream; "" for "body" and "content_type"
    required: bool
    annotation: Annotation  # without `Absent`, which an optional argument adds
    schema: JsonSchema  # full, before lowering to the portable profile
    default: JsonValue | UnsetType = UNSET  # what the handler gets where a call leaves it out


class SettingUse(Struct, frozen=True):
    """A parameter, or a property of the body, whose value is a setting of the server."""

    name: str  # of the environment variable: "VERCEL_TEAM_ID"
    schema: JsonSchema  # of the value
    description: str
    required: bool  # whether the operation cannot be called without it
    secret: bool
    at: Location  # where the manifest names the setting
    default: JsonValue | UnsetType = UNSET  # sent if the environment has no value


class Fixed(Struct, frozen=True):
    """A value that is sent with every call and is no argument."""

    location: str  # as of an argument
    wire_name: str  # of the parameter, or of the property of a "body"
    value: JsonValue  # UNSET if the environment has it
    setting: SettingUse | None = None
    is_default_header: bool = False  # the client of the API adds it, and no handler spells it
    at: Location | None = None  # of a default header: where the manifest states it


class Pagination(Struct, frozen=True):
    """How a list goes on: an argument of the tool, never sent, says how many pages are joined."""

    kind: str  # "link" (RFC 8288), "cursor", "last_item", "page" or "offset"
    parameter: str = ""  # the wire name of what moves on; "" for "link"
    items: str = ""  # the member that holds the list; "" where the response is the list
    cursor: tuple[str, ...] = ()  # the members that lead to the next cursor, or in the last item
    first: int = 0  # the number of the first page
    size: str = ""  # the wire name of how many items a page has, where there is one
    more: str = ""  # the member that is true where another page follows, where there is one
    most: int = 20  # pages that one call may ask for


class Shaping(Struct, frozen=True):
    """What is done around a tool's handler, as the manifest has it."""

    confirm: str = ""  # what the user is asked before anything is sent
    poll: PollEntry | None = None
    select: JsonObject = field(default_factory=dict)  # members to keep, nested; {} keeps all
    max_items: int | None = None
    max_bytes: int | None = None
    rest: str = ""  # how a caller gets what the two leave out
    timeout_seconds: float | None = None
    attempts: int | None = None


class ToolPlan(Struct, frozen=True):
    """One tool: what clients see, what its handler is called, and how its arguments travel."""

    name: str  # ^[a-z][a-z0-9_]{0,63}$
    function: Identifier
    call_type: Identifier  # "GetPetsPetIdCall": what an override says that its `call_next` is
    title: str
    description: str
    operation: Operation  # as the API gets it: what is fixed has one value
    arguments: tuple[Argument, ...]  # required ones first, each in the operation's order
    input_schema: JsonObject  # as listed: self-contained, inside the portable profile
    full_input_schema: JsonObject | None  # what is validated, where that says more than is listed
    output_schema: JsonObject | None  # as listed: self-contained, rooted in an object, tolerant
    result_key: str  # "result" where a result that is no object is wrapped, else ""
    returns: Annotation  # "None" when nothing comes back, "object" when its type has no class
    annotations: JsonObject  # MCP tool annotations: readOnlyHint, destructiveHint, ...
    accept: tuple[str, ...]  # media types asked for, best first
    token_cost: int  # estimate: a quarter of the listed JSON's bytes, rounded up
    body: tuple[MediaType, ...] = ()  # in which the body can be sent, the default first
    pagination: Pagination | None = None
    also_answered: tuple[str, ...] = ()  # media types that are declared and not asked for
    fixed: tuple[Fixed, ...] = ()
    members: Mapping[str, JsonValue] = field(default_factory=dict)
    """Members that are added to a body that lacks them, by wire name."""
    wire_names: Mapping[str, str] = field(default_factory=dict)  # by what members are offered as
    aliases: tuple[str, ...] = ()  # former names, by which it can be called still
    shaping: Shaping = Shaping()
    exposed_as: str = "tool"  # or "resource", "template", "prompt": then it is not listed
    stated: EffectiveEntry = EffectiveEntry()  # what the manifest says of it
    document_name: str = ""  # what the document calls it by now, where its issued name is another

    @property
    def security(self) -> tuple[SecurityRequirement, ...]:
        """The alternatives that the operation declares."""
        return self.operation.security


class ToolGroupPlan(Struct, frozen=True):
    """The tools of one tag: one pair of files in `_generated/tools/`."""

    tag: str
    module: Identifier  # "pets" in tools/pets.py, tools/pets.json and models/pets.py
    description: str
    tools: tuple[ToolPlan, ...]  # by name

    @property
    def listed_tools(self) -> tuple[ToolPlan, ...]:
        """The tools that clients see; the others give resources and prompts."""
        return tuple(tool for tool in self.tools if tool.exposed_as == "tool")


class StepPlan(Struct, frozen=True):
    """A step that is sure to fit its operation; every expression names where its value is from."""

    id: str
    variable: Identifier
    tool: str
    operation: str  # its key
    arguments: ObjectOf
    condition: Condition | None
    items: Value | None  # the list that it runs for
    criteria: tuple[Criterion, ...]
    on_success: tuple[Action, ...]
    on_failure: tuple[Action, ...]


class WorkflowResult(Struct, frozen=True):
    """The object that a workflow gives, as a class; each of its members may be missing."""

    name: Identifier  # "BuyBookResult"
    members: tuple[tuple[Identifier, Annotation], ...]


class WorkflowPlan(Struct, frozen=True):
    """One workflow: what clients see of it, and its steps."""

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

    @property
    def key(self) -> str:
        """Names it where tools are named by their operations: "workflow:buy_book"."""
        return f"{WORKFLOW_PREFIX}{self.name}"


def as_listed(tool: ToolPlan | WorkflowPlan) -> JsonObject:
    """Give the members of the tool's entry in a listing, all but its name."""
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
    """A setting of the server that is read from the environment."""

    name: str  # "PETSTORE_API_KEY"
    description: str
    required: bool  # most tools need it, and no other setting can replace it
    secret: bool
    scheme: str = ""  # the security scheme that it serves, if any
    part: str = ""  # which part of it: "value", "username", "password", "client_id", ...
    example: str = ""
    choices: tuple[str, ...] = ()  # the values that are allowed; () for any
    usage: Usage | None = None  # the tools that need it; None where calls do not decide
    schema: JsonSchema | None = None  # of a value that requests carry; None for other settings
    reads_as: JsonObject = field(default_factory=dict)  # the types that its text is parsed as

    @property
    def use(self) -> str:
        """Who needs it, without numbers: "needed by most tools", "optional"."""
        if self.usage is not None:
            return self.usage.summary()
        return "required" if self.required else "optional"

    @property
    def stem(self) -> str:
        """What begins all settings of its security scheme."""
        if self.part == "value":
            return self.name
        return self.name.removesuffix(f"_{self.part.upper()}")


class ModelModule(Struct, frozen=True):
    """The schemas that become one module of `TypedDict`s.

    `definitions` maps class names to self-contained schemas whose `$ref`s are `#/$defs/<class>`;
    a class that several tags use stands in the module "shared".
    """

    module: Identifier
    definitions: Mapping[Identifier, JsonSchema]


def source_prefix(env_prefix: str, source: ApiSource) -> str:
    """Return what begins the settings of one source of a server, whose own is `env_prefix`."""
    own = f"{source.name.upper()}_" if source.name else ""
    return env_prefix + (own if source.settings is None else source.settings)


class DeclaredPlan(Struct, frozen=True):
    """A resource, a resource template or a prompt that no code was written for.

    `content` is one of `text`, `file` (in the package), `tool` (that gives it) and `messages`.
    """

    listing: JsonObject  # as clients see it
    content: JsonObject
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # to complete arguments


class ServerPlan(Struct, frozen=True):
    """A whole server package."""

    name: str  # "petstore": ^[a-z][a-z0-9]*(-[a-z0-9]+)*$
    distribution: str  # "petstore-mcp"
    package: Identifier  # "petstore_mcp"
    env_prefix: str  # "PETSTORE_"
    title: str
    description: str  # one paragraph, cleaned
    instructions: str
    api: Api  # the operations that are served, and no others
    base_servers: tuple[Server, ...]
    environment: tuple[EnvironmentVariable, ...]
    groups: tuple[ToolGroupPlan, ...]  # by module
    models: tuple[ModelModule, ...]  # by module; empty with `--no-models`
    left_out: tuple[LeftOut, ...] = field(default=())
    unselected: tuple[str, ...] = ()  # keys of the operations that `include` and `exclude` leave
    workflows: tuple[WorkflowPlan, ...] = ()  # by name
    budget: int = DEFAULT_BUDGET  # tokens that the list of tools may cost
    toolsets: tuple[Toolset, ...] = ()  # by name
    search: ToolSearch | None = None  # what is listed in place of all tools, over the budget
    headers: Mapping[str, tuple[Fixed, ...]] = field(default_factory=dict)  # by source
    icons: tuple[JsonObject, ...] = ()
    revisions: tuple[str, ...] = ()  # of MCP, that are served; () for all
    resources: tuple[DeclaredPlan, ...] = ()  # by URI; templates among them
    prompts: tuple[DeclaredPlan, ...] = ()  # by name
    has_asking_handlers: bool = False  # something in `handlers/` asks clients for input

    def servers_of(self, source: str) -> tuple[Server, ...]:
        """Where the API of a source is, unless an operation says otherwise."""
        known = {item.name: item.servers for item in self.api.sources if item.name}
        return known.get(source, self.base_servers)

    @property
    def has_document(self) -> bool:
        """Whether there is an API behind the server; without one, its `handlers/` are all of it."""
        return bool(self.groups)

    @property
    def extras(self) -> Mapping[str, tuple[str, ...]]:
        """The extras of the runtime that tools need, with these tools: {"seal": ("delete_pet",)}.

        A client of a stateless revision carries the state of a call, encrypted.
        """
        if not self._serves_stateless_clients:
            return {}
        asking = {tool.name for tool in self.tools if tool.shaping.confirm}
        asking |= {
            workflow.name
            for workflow in self.workflows
            if asking.intersection(step.tool for step in workflow.steps)
        }
        return {"seal": tuple(sorted(asking))} if asking else {}

    @property
    def _serves_stateless_clients(self) -> bool:
        return not self.revisions or max(self.revisions) >= FIRST_STATELESS_REVISION

    @property
    def required_extras(self) -> tuple[str, ...]:
        """The extras that an installation needs, for its tools or for its `handlers/`."""
        asks_by_hand = self.has_asking_handlers and self._serves_stateless_clients
        by_hand = {"seal"} if asks_by_hand else set()
        return tuple(sorted(self.extras.keys() | by_hand))

    @property
    def token_cost(self) -> int:
        """What listing every tool costs, or would cost where they are searched for instead."""
        tools: tuple[ToolPlan | WorkflowPlan, ...] = (*self.listed_tools, *self.workflows)
        return sum(tool.token_cost for tool in tools)

    @property
    def listed_tools(self) -> tuple[ToolPlan, ...]:
        """The tools that clients see; the others give resources and prompts."""
        return tuple(tool for tool in self.tools if tool.exposed_as == "tool")

    @property
    def tools(self) -> tuple[ToolPlan, ...]:
        """All generated tools, in the order in which they are listed: by name."""
        return tuple(
            sorted((tool for group in self.groups for tool in group.tools), key=lambda t: t.name)
        )
