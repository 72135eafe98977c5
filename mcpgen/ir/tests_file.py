"""Types of `mcpgen.tests.yaml`, the user's test cases for a server.

The JSON Schema of the file is made from these types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from mcpgen.diagnostics import Location

TESTS_FILE = "mcpgen.tests.yaml"

JsonObject: TypeAlias = dict[str, Any]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A mapping of the file."""


class CallEntry(_Entry, frozen=True):
    """The tool call."""

    tool: Text
    arguments: JsonObject = {}


class ReplyEntry(_Entry, frozen=True):
    """The response of the mock API, if it differs from the document."""

    status: Annotated[int, Meta(ge=100, le=599)] = 200
    headers: dict[str, str] = {}
    body: Annotated[Any, Meta(description="A JSON value.")] = UNSET
    text: Annotated[str | UnsetType, Meta(description="A body that is sent unchanged.")] = UNSET


class UpstreamEntry(_Entry, frozen=True):
    """The response of the mock API for one operation."""

    operation: Annotated[Text, Meta(description="A method and a path: `GET /pets/{petId}`.")]
    reply: ReplyEntry


class RequestEntry(_Entry, frozen=True):
    """The expected request, by wire names. Omitted locations are not checked."""

    operation: Annotated[str, Meta(description="A method and a path: `GET /pets/{petId}`.")] = ""
    path: JsonObject | UnsetType = UNSET
    query: JsonObject | UnsetType = UNSET
    header: JsonObject | UnsetType = UNSET
    cookie: JsonObject | UnsetType = UNSET
    body: Any = UNSET


class TextEntry(_Entry, frozen=True):
    """Expectations for the text of the result."""

    contains: tuple[Text, ...] = ()
    not_contains: tuple[Text, ...] = ()


class ExpectEntry(_Entry, frozen=True):
    """The expected outcome of a call."""

    is_error: bool
    request: Annotated[
        RequestEntry | UnsetType | None,
        Meta(description="The only request that is sent; null if none is sent."),
    ] = UNSET
    structured: Annotated[Any, Meta(description="The complete structured content.")] = UNSET
    text: TextEntry = TextEntry()


class CaseEntry(_Entry, frozen=True):
    """One test case: a call, the responses of the mock API, and the expected outcome."""

    id: Text
    call: CallEntry
    expect: ExpectEntry
    upstream: tuple[UpstreamEntry, ...] = ()


class CasesFile(_Entry, frozen=True):
    """Test cases for a server, in addition to the generated ones."""

    version: Annotated[Literal[1], Meta(description="The version of this format.")]
    cases: tuple[CaseEntry, ...]


class LocatedTests(Struct, frozen=True):
    """The cases of the file; `at` finds the place of a value by its keys and indexes."""

    cases: tuple[CaseEntry, ...]
    at: Callable[[tuple[str, ...]], Location]
