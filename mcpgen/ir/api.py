"""What an API offers, whatever version of OpenAPI said so (OpenAPI 3.2 names and meanings).

Lowering has done the following, so no later stage asks for the document's version: Swagger 2.0
bodies, `collectionFormat` and `basePath` became 3.x ones; schemas are JSON Schema 2020-12 and refer
to each other as `#/$defs/<name>`, `<name>` being a key of `Api.schemas`; path-level parameters,
servers and root-level security were merged into each operation; defaults of `style` and `explode`
are spelled out.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType, field

from mcpgen.diagnostics import OperationRefusedError, Place, Problems
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"})
"""The methods that change nothing (RFC 9110, section 9.2.1)."""


class ServerVariable(Struct, frozen=True):
    """A placeholder of a server URL (Server Variable Object)."""

    name: str
    default: str
    enum: tuple[str, ...] = ()
    description: str = ""


class Server(Struct, frozen=True):
    """A Server Object. `url` keeps its `{placeholders}`, relative ones resolved if they can be."""

    url: str
    variables: tuple[ServerVariable, ...] = ()
    description: str = ""


class Parameter(Struct, frozen=True):
    """A Parameter Object; `style` and `explode` hold even where the document is silent."""

    name: str  # as it goes on the wire
    location: str  # "path", "query", "header", "cookie" or "querystring"
    required: bool
    schema: JsonSchema
    style: str  # "" when `content_type` says how the value is serialised
    explode: bool
    at: Place
    allow_reserved: bool = False
    allow_empty_value: bool = False
    content_type: str = ""  # of a parameter with `content`, e.g. "application/json"
    description: str = ""
    deprecated: bool = False
    examples: tuple[JsonValue, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Its location and its name; a header's in lower case, as case means nothing there."""
        return (self.location, self.name.lower() if self.location == "header" else self.name)


class Encoding(Struct, frozen=True):
    """How one property of a form or multipart body travels (Encoding Object)."""

    content_type: str = ""
    style: str = ""  # "" where the document is silent
    explode: bool | None = None
    allow_reserved: bool = False
    headers: tuple[Parameter, ...] = ()


class MediaType(Struct, frozen=True):
    """One entry of a `content` map (Media Type Object). `schema` is None where none was given."""

    media_type: str  # as the document spells it: "application/json; charset=utf-8"
    schema: JsonSchema | None
    at: Place
    encoding: Mapping[str, Encoding] = field(default_factory=dict)
    examples: tuple[JsonValue, ...] = ()
    item_schema: JsonSchema | None = None  # of a streaming media type (3.2)
    prefix_encoding: tuple[Encoding, ...] = ()  # of the first parts of a multipart type (3.2)
    item_encoding: Encoding | None = None  # of the parts after those (3.2)
    root_part: str = ""  # the property that is the first part, where parts have no names
    xml_root: str = ""  # the element that an XML body is, where the document gives its shape


class RequestBody(Struct, frozen=True):
    """A Request Body Object; `content` is by media type, as the order of keys means nothing."""

    required: bool
    content: tuple[MediaType, ...]
    at: Place
    description: str = ""


class Response(Struct, frozen=True):
    """A Response Object. `status` is "200", "4XX" or "default"."""

    status: str
    description: str
    content: tuple[MediaType, ...]
    at: Place
    headers: tuple[Parameter, ...] = ()


class SecurityScheme(Struct, frozen=True):
    """A Security Scheme Object; `id` is its key in the document's components."""

    id: str
    type: str  # "apiKey", "http", "oauth2", "openIdConnect" or "mutualTLS"
    at: Place
    location: str = ""  # of an apiKey: "header", "query" or "cookie"
    name: str = ""  # of an apiKey: the header, parameter or cookie
    http_scheme: str = ""  # of http, in lower case: "basic", "bearer", ...
    bearer_format: str = ""
    flows: Mapping[str, JsonValue] = field(
        default_factory=dict
    )  # of oauth2, as the document has it
    openid_connect_url: str = ""
    description: str = ""
    source: str = ""  # `ApiSource.name`

    @property
    def local_id(self) -> str:
        """Its key in its own document."""
        return self.id.removeprefix(f"{self.source}.")

    @property
    def place(self) -> tuple[str, str]:
        """The location and the name of what carries the credential; a header's in lower case."""
        if self.type != "apiKey":
            return ("header", "authorization")
        return (self.location, self.name.lower() if self.location == "header" else self.name)


class SchemeUse(Struct, frozen=True):
    """A scheme that a request must satisfy, with the scopes it needs there."""

    scheme: str  # `SecurityScheme.id`
    scopes: tuple[str, ...] = ()


SecurityRequirement = tuple[SchemeUse, ...]
"""Schemes that are all needed (AND). The empty tuple is the anonymous alternative, `{}`."""


class Placed(Struct, frozen=True):
    """Where a declared body holds the value of an input."""

    input: str


class Declared(Struct, frozen=True):
    """How the inputs of a tool that the manifest declares become its request.

    Parameters are by location and wire name. `body` is JSON whose leaves may be `Placed`; a member
    whose input is not given is left out. It is UNSET where there is no body.
    """

    tool: str
    inputs: Mapping[tuple[str, str], str]  # what a parameter's input is called
    fixed: Mapping[tuple[str, str], JsonValue]  # what is sent with every call
    body: JsonValue | UnsetType = UNSET
    required: frozenset[str] = frozenset()  # the inputs that every call gives


PEER_EXTENSIONS = (
    "x-enable-mcp-operation", "x-gram", "x-mcp", "x-mcp-annotations", "x-speakeasy-mcp",
)  # fmt: skip
"""What documents tell other generators of MCP servers about operations."""


class PeerExtensions(Struct, frozen=True):
    """What stands for them at something that holds operations."""

    holder: str  # "a path item" or "the root"
    at: Place
    stated: Mapping[str, JsonValue]


class Operation(Struct, frozen=True):
    """One method of one path."""

    method: str  # upper case: "GET", "QUERY", or an additional one as the document spells it
    path: str  # as the document spells it: "/pets/{petId}"
    operation_id: str  # "" where the document gives none
    tag: str  # the first tag, or "default"
    summary: str
    description: str
    parameters: tuple[
        Parameter, ...
    ]  # ordered by location (path, query, header, cookie), then as declared
    request_body: RequestBody | None
    responses: tuple[Response, ...]  # by status, "default" last
    security: tuple[SecurityRequirement, ...]  # alternatives (OR); empty: nothing is asked for
    servers: tuple[Server, ...]
    at: Place
    deprecated: bool = False
    tags: tuple[str, ...] = ()
    extensions: Mapping[str, JsonValue] = field(default_factory=dict)  # its `x-` keys
    around: tuple[PeerExtensions, ...] = ()  # of its path item, then of its document
    source: str = ""  # `ApiSource.name`
    reserved: tuple[Parameter, ...] = ()  # declared headers that only a security scheme may set
    is_public: bool = False  # the operation itself states `security: []`
    called: str = ""  # what the document wants its tool to be called, by an extension
    published_arguments: frozenset[str] = frozenset()  # names that its tool has had
    declared: Declared | None = None  # where no document has it, and the manifest declares it

    @property
    def key(self) -> str:
        """Names the operation everywhere outside the document: "GET /pets/{petId}".

        Where there are several documents it is "shop:GET /pets/{petId}", and "tool:find_book" where
        the manifest declares it.
        """
        if self.declared:
            return f"tool:{self.declared.tool}"
        request = f"{self.method} {self.path}"
        return f"{self.source}:{request}" if self.source else request


class LeftOut(Struct, frozen=True):
    """An operation that is not served, and the diagnostic code and sentence that say why."""

    operation: str  # its key
    code: str
    reason: str


def leave_out(operation: str, refused: OperationRefusedError, problems: Problems) -> LeftOut:
    """Report that the operation with this key cannot be served, and give what is kept of it."""
    problems.warning(
        refused.code,
        f"`{operation}` is left out: {refused.message}",
        at=refused.at,
        why="the other operations are served",
        help=refused.help,
    )
    return LeftOut(operation, refused.code, refused.message)


class ApiSource(Struct, frozen=True):
    """Where operations come from, and what the manifest and the lock say of them all."""

    name: str  # begins the keys of its operations; "" for one whose keys have no name
    servers: tuple[Server, ...] = ()
    settings: str | None = None  # follows the server's prefix in its settings; None: its name
    published_settings: Mapping[str, str] = field(default_factory=dict)  # by scheme, as locked
    tool_prefix: str = ""  # begins the names of its tools
    credentials: str = ""  # begins the variables of its credentials, where not the server's prefix


class WantedPrompt(Struct, frozen=True):
    """A prompt that a document has for another generator (`x-mcp-prompts`)."""

    name: str
    stated: JsonObject  # as it stands in the document
    at: Place


class ApiInfo(Struct, frozen=True):
    """What a document says of its API, in its own words (OpenAPI's Info Object)."""

    title: str
    summary: str  # since OpenAPI 3.1
    description: str


class Api(Struct, frozen=True):
    """An API description, understood; or several, joined."""

    title: str
    version: str
    description: str
    servers: tuple[Server, ...]
    security_schemes: tuple[SecurityScheme, ...]  # by id
    operations: tuple[Operation, ...]  # by (tag, path, method), whatever the document's order
    schemas: Mapping[str, JsonSchema]  # by name; only these may be referred to
    tag_descriptions: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    prompts: tuple[WantedPrompt, ...] = ()
    sources: tuple[ApiSource, ...] = ()  # those of which there is more to say than `servers`
    infos: tuple[ApiInfo, ...] = ()  # what each document says of itself

    def source_of(self, name: str) -> ApiSource:
        """Return the source with this name."""
        return next((source for source in self.sources if source.name == name), ApiSource(name))
