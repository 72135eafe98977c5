"""The IR of an API: operations, parameters, responses, schemas, in terms of OpenAPI 3.2.

Lowering has removed the differences between OpenAPI versions: Swagger 2.0 bodies,
`collectionFormat` and `basePath` have their 3.x form; schemas are JSON Schema 2020-12 and refer to
each other as `#/$defs/<name>`, where `<name>` is a key of `Api.schemas`; path-level parameters and
servers and root-level security are merged into each operation; `style` and `explode` have their
default values.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType, field

from mcpgen.diagnostics import OperationRefusedError, Place, Problems
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"})
"""The methods that change nothing (RFC 9110, section 9.2.1)."""

IDEMPOTENT_METHODS = SAFE_METHODS | {"DELETE", "PUT"}
"""The methods that a client may repeat (RFC 9110, section 9.2.2)."""


class ServerVariable(Struct, frozen=True):
    """A placeholder of a server URL (Server Variable Object)."""

    name: str
    default: str
    enum: tuple[str, ...] = ()
    description: str = ""


class Server(Struct, frozen=True):
    """A Server Object. `url` keeps its `{placeholders}`; it is absolute if that is possible."""

    url: str
    variables: tuple[ServerVariable, ...] = ()
    description: str = ""


class Parameter(Struct, frozen=True):
    """A Parameter Object, with the default `style` and `explode` filled in."""

    name: str  # its wire name
    location: str  # "path", "query", "header", "cookie" or "querystring"
    required: bool
    schema: JsonSchema
    style: str  # "" if `content_type` determines the serialisation
    explode: bool
    at: Place
    allow_reserved: bool = False
    allow_empty_value: bool = False
    content_type: str = ""  # of a parameter with `content`, e.g. "application/json"
    description: str = ""
    deprecated: bool = False
    examples: tuple[JsonValue, ...] = ()
    is_generated: bool = False  # the server adds an idempotency key if a call has none

    @property
    def wire_place(self) -> tuple[str, str]:
        """Location and wire name."""
        return (self.location, self.name)

    @property
    def place(self) -> tuple[str, str]:
        """Location and name; the name of a header is in lower case."""
        return (self.location, self.name.lower() if self.location == "header" else self.name)


class Encoding(Struct, frozen=True):
    """Serialisation of one property of a form or multipart body (Encoding Object)."""

    content_type: str = ""
    style: str = ""  # "" if the document has none
    explode: bool | None = None
    allow_reserved: bool = False
    headers: tuple[Parameter, ...] = ()


class MediaType(Struct, frozen=True):
    """One entry of a `content` map (Media Type Object). `schema` is None if it has none."""

    media_type: str  # as the document spells it: "application/json; charset=utf-8"
    schema: JsonSchema | None
    at: Place
    encoding: Mapping[str, Encoding] = field(default_factory=dict)
    examples: tuple[JsonValue, ...] = ()
    item_schema: JsonSchema | None = None  # of a streaming media type (3.2)
    prefix_encoding: tuple[Encoding, ...] = ()  # of the first parts of a multipart type (3.2)
    item_encoding: Encoding | None = None  # of the parts after those (3.2)
    root_part: str = ""  # the property that is the first part, if parts have no names
    xml_root: str = ""  # the root element of an XML body, if the document describes it


class RequestBody(Struct, frozen=True):
    """A Request Body Object; `content` is sorted by media type."""

    required: bool
    content: tuple[MediaType, ...]
    at: Place
    description: str = ""


class ResponseLink(Struct, frozen=True):
    """A Link Object: values of this response are parameters of another operation."""

    operation_id: str  # "" if it has a reference
    operation_ref: str  # "" if it has an id
    parameters: Mapping[str, JsonValue]


class Response(Struct, frozen=True):
    """A Response Object. `status` is "200", "4XX" or "default"."""

    status: str
    description: str
    content: tuple[MediaType, ...]
    at: Place
    headers: tuple[Parameter, ...] = ()
    links: tuple[ResponseLink, ...] = ()


class SecurityScheme(Struct, frozen=True):
    """A Security Scheme Object; `id` is its key in the document's components."""

    id: str
    type: str  # "apiKey", "http", "oauth2", "openIdConnect" or "mutualTLS"
    at: Place
    location: str = ""  # of an apiKey: "header", "query" or "cookie"
    name: str = ""  # of an apiKey: the header, parameter or cookie
    http_scheme: str = ""  # of http, in lower case: "basic", "bearer", ...
    bearer_format: str = ""
    flows: Mapping[str, JsonValue] = field(default_factory=dict)  # of oauth2: OAuth Flows Object
    openid_connect_url: str = ""
    description: str = ""
    source: str = ""  # `ApiSource.name`
    credential: CredentialEntry = CredentialEntry()  # where it comes from, by the manifest

    @property
    def local_id(self) -> str:
        """The key in its own document."""
        return self.id.removeprefix(f"{self.source}.")

    @property
    def place(self) -> tuple[str, str]:
        """Location and name of the credential; the name of a header is in lower case."""
        if self.type != "apiKey":
            return ("header", "authorization")
        return (self.location, self.name.lower() if self.location == "header" else self.name)


class SchemeUse(Struct, frozen=True):
    """A security scheme that a request must satisfy, with the required scopes."""

    scheme: str  # `SecurityScheme.id`
    scopes: tuple[str, ...] = ()


SecurityRequirement = tuple[SchemeUse, ...]
"""Schemes that are all required (AND). The empty tuple is the anonymous alternative, `{}`."""


class InputRef(Struct, frozen=True):
    """Reference to an input of the tool, as a leaf of a declared body."""

    input: str


class DeclaredRequest(Struct, frozen=True):
    """The request of a tool that the manifest declares, in terms of the tool's inputs.

    Parameters are keyed by location and wire name. `body` is JSON whose leaves may be `InputRef`;
    a member is omitted if its input is absent. `body` is UNSET if the request has none.
    """

    tool: str
    inputs: Mapping[tuple[str, str], str]  # names of inputs
    fixed: Mapping[tuple[str, str], JsonValue]  # constants
    body: JsonValue | UnsetType = UNSET
    required: tuple[str, ...] = ()  # inputs that every call must have, sorted


VENDOR_EXTENSIONS = (
    "x-enable-mcp-operation", "x-gram", "x-mcp", "x-mcp-annotations", "x-speakeasy-mcp",
)  # fmt: skip
"""Extensions with which documents configure other generators of MCP servers."""


class VendorExtensions(Struct, frozen=True):
    """The vendor extensions of a path item or of the document's root."""

    holder: str  # "a path item" or "the root"
    at: Place
    stated: Mapping[str, JsonValue]


class Operation(Struct, frozen=True):
    """One method of one path."""

    method: str  # upper case: "GET", "QUERY", or an additional one as the document spells it
    path: str  # as the document spells it: "/pets/{petId}"
    operation_id: str  # "" if the document has none
    tag: str  # the first tag, or "default"
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    """Sorted by location (path, query, header, cookie), then in the order of the document."""
    request_body: RequestBody | None
    responses: tuple[Response, ...]  # by status, "default" last
    security: tuple[SecurityRequirement, ...]  # alternatives (OR); empty: no security
    servers: tuple[Server, ...]
    at: Place
    deprecated: bool = False
    tags: tuple[str, ...] = ()
    extensions: Mapping[str, JsonValue] = field(default_factory=dict)  # its `x-` keys
    outer_extensions: tuple[VendorExtensions, ...] = ()  # of its path item, then of its document
    source: str = ""  # `ApiSource.name`
    reserved: tuple[Parameter, ...] = ()  # declared headers that only a security scheme may set
    is_public: bool = False  # the operation itself states `security: []`
    extension_name: str = ""  # the name of the tool, as an extension of the document states it
    published_arguments: frozenset[str] = frozenset()  # argument names of earlier releases
    published_members: Mapping[str, str] = field(default_factory=dict)
    """Published arguments that are members of a flat body, by their API names."""
    declared: DeclaredRequest | None = None  # set if the manifest declares the operation

    @property
    def key(self) -> str:
        """Unique name of the operation outside its document: "GET /pets/{petId}".

        With a named source it is "shop:GET /pets/{petId}", and for an operation that the manifest
        declares, "tool:find_book".
        """
        if self.declared:
            return f"tool:{self.declared.tool}"
        request = f"{self.method} {self.path}"
        return f"{self.source}:{request}" if self.source else request

    @property
    def body_content(self) -> tuple[MediaType, ...]:
        """The media types of its body; () if it has none."""
        return () if self.request_body is None else self.request_body.content


class SkippedOperation(Struct, frozen=True):
    """An operation that is not served, with the diagnostic code and the reason."""

    operation: str  # its key
    code: str
    reason: str


def skip_operation(
    operation: str, refused: OperationRefusedError, problems: Problems
) -> SkippedOperation:
    """Report that the operation with this key cannot be served; return its record."""
    problems.warning(
        refused.code,
        f"`{operation}` is skipped: {refused.message}",
        at=refused.at,
        why="the other operations are served",
        help=refused.help,
    )
    return SkippedOperation(operation, refused.code, refused.message)


class ApiSource(Struct, frozen=True):
    """A source of operations, with its settings in the manifest and the lockfile."""

    name: str  # prefix of the keys of its operations; "" for none
    servers: tuple[Server, ...] = ()
    settings: str | None = None  # follows the server's prefix in its settings; None: its name
    published_settings: Mapping[str, str] = field(default_factory=dict)  # by scheme, as locked
    tool_prefix: str = ""
    credentials: str = ""  # prefix of its credential variables; "": the server's prefix


class ExtensionPrompt(Struct, frozen=True):
    """A prompt in a vendor extension of the document (`x-mcp-prompts`)."""

    name: str
    stated: JsonObject  # the extension's value
    at: Place


class ApiInfo(Struct, frozen=True):
    """Texts of a document about its API (Info Object)."""

    title: str
    summary: str  # since OpenAPI 3.1
    description: str


class Api(Struct, frozen=True):
    """The IR of one API description, or of several joined ones."""

    title: str
    version: str
    description: str
    servers: tuple[Server, ...]
    security_schemes: tuple[SecurityScheme, ...]  # by id
    operations: tuple[Operation, ...]  # by (tag, path, method)
    schemas: Mapping[str, JsonSchema]  # by name; the targets of all references
    tag_descriptions: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[SkippedOperation, ...] = ()
    prompts: tuple[ExtensionPrompt, ...] = ()
    sources: tuple[ApiSource, ...] = ()  # those with more settings than `servers`
    infos: tuple[ApiInfo, ...] = ()  # one for each document

    def source_of(self, name: str) -> ApiSource:
        """Return the source with this name, or one without settings."""
        return next((source for source in self.sources if source.name == name), ApiSource(name))
