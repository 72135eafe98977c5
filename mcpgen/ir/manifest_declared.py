"""Manifest entries of declared tools, resources, prompts, workflows and toolsets."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from mcpgen.ir.manifest_operations import AnnotationsEntry, ResultEntry
from mcpgen.ir.manifest_types import (
    Entry,
    HttpUrl,
    JsonSchema,
    PageCount,
    Seconds,
    Text,
    key,
)


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
        Seconds | None, key("The most time for one call of the API, retries included.", 30)
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

    limit: Annotated[int, Meta(ge=1, le=10), key("The most further calls.", 3)]
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
    max_pages: Annotated[PageCount | None, key("The most pages that the step reads.", 5)] = None
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
