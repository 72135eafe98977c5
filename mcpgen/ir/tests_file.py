"""Types of `mcpgen.tests.yaml`, the user's test cases for a server.

The JSON Schema of the file is made from these types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from mcpgen.diagnostics import Location
from mcpgen.ir.manifest_entries import Text, key
from mcpgen.jsonschema.types import JsonObject


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A mapping of the file."""


class CallEntry(_Entry, frozen=True):
    """The tool call."""

    tool: Annotated[Text, key("The name of the tool.", "get_pet")]
    arguments: Annotated[
        JsonObject, key("Its arguments by name, as a client sends them.", {"pet_id": 7})
    ] = {}


class ReplyEntry(_Entry, frozen=True):
    """The response of the mock API, if it differs from the document."""

    status: Annotated[int, Meta(ge=100, le=599), key("The status code.", 404)] = 200
    headers: Annotated[dict[str, str], key("Headers to add.", {"Retry-After": "1"})] = {}
    body: Annotated[Any, key("A JSON value to send as the body.", {"id": 7, "name": "Rex"})] = UNSET
    text: Annotated[str | UnsetType, key("A text to send unchanged as the body.", "not JSON")] = (
        UNSET
    )


class UpstreamEntry(_Entry, frozen=True):
    """The response of the mock API for one operation."""

    operation: Annotated[
        Text, key("The operation, as a method and a path of the document.", "GET /pets/{petId}")
    ]
    reply: Annotated[ReplyEntry, key("The response to it.", {"status": 404})]


class RequestEntry(_Entry, frozen=True):
    """The expected request, by wire names. Omitted locations are not checked."""

    operation: Annotated[
        str, key("The operation, as a method and a path of the document.", "GET /pets/{petId}")
    ] = ""
    path: Annotated[
        JsonObject | UnsetType, key("All path parameters, as JSON values.", {"petId": 7})
    ] = UNSET
    query: Annotated[
        JsonObject | UnsetType, key("All query parameters, as JSON values.", {"limit": 20})
    ] = UNSET
    header: Annotated[
        JsonObject | UnsetType, key("All header parameters of the document.", {"X-Trace": "on"})
    ] = UNSET
    cookie: Annotated[
        JsonObject | UnsetType, key("All cookie parameters of the document.", {"theme": "dark"})
    ] = UNSET
    body: Annotated[Any, key("The body as a JSON value.", {"name": "Rex"})] = UNSET


class TextEntry(_Entry, frozen=True):
    """Expectations for the text of the result."""

    contains: Annotated[tuple[Text, ...], key("Texts that must occur.", ["Rex"])] = ()
    not_contains: Annotated[tuple[Text, ...], key("Texts that must not occur.", ["secret"])] = ()


class ExpectEntry(_Entry, frozen=True):
    """The expected outcome of a call."""

    is_error: Annotated[bool, key("Whether the result is an error.", False)]
    request: Annotated[
        RequestEntry | UnsetType | None,
        key(
            "The only request that the call sends; null if it sends none.",
            {"operation": "GET /pets/{petId}", "path": {"petId": 7}},
        ),
    ] = UNSET
    structured: Annotated[
        Any, key("The complete structured content of the result.", {"id": 7, "name": "Rex"})
    ] = UNSET
    text: Annotated[TextEntry, key("The text of the result.", {"contains": ["Rex"]})] = TextEntry()


class CaseEntry(_Entry, frozen=True):
    """One test case: a call, the responses of the mock API, and the expected outcome."""

    id: Annotated[Text, key("The name of the case; unique in the file.", "missing_pet")]
    call: Annotated[CallEntry, key("The call.", {"tool": "get_pet", "arguments": {"pet_id": 7}})]
    expect: Annotated[ExpectEntry, key("What the call must return and send.", {"is_error": True})]
    upstream: Annotated[
        tuple[UpstreamEntry, ...],
        key(
            "Responses of the mock API, in place of those it makes from the document.",
            [{"operation": "GET /pets/{petId}", "reply": {"status": 404}}],
        ),
    ] = ()


class CasesFile(_Entry, frozen=True):
    """Test cases for a server, in addition to the generated ones."""

    version: Annotated[Literal[1], key("The version of this format.", 1)]
    cases: Annotated[
        tuple[CaseEntry, ...],
        key(
            "The cases, in any order.",
            [{"id": "stock", "call": {"tool": "get_stock"}, "expect": {"is_error": False}}],
        ),
    ]


class LocatedTests(Struct, frozen=True):
    """The cases of the file; `at` finds the place of a value by its keys and indexes."""

    cases: tuple[CaseEntry, ...]
    at: Callable[[tuple[str, ...]], Location]
