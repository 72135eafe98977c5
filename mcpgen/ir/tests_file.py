"""`mcpgen.tests.yaml`: calls of a server that a person wants tested, key by key.

The types are the one statement of what the file may hold, as those of the manifest are of it.
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
    """What is called."""

    tool: Text
    arguments: JsonObject = {}


class ReplyEntry(_Entry, frozen=True):
    """How the API answers, where that differs from what its document describes."""

    status: Annotated[int, Meta(ge=100, le=599)] = 200
    headers: dict[str, str] = {}
    body: Annotated[Any, Meta(description="A JSON value.")] = UNSET
    text: Annotated[str | UnsetType, Meta(description="A body that is sent as it stands.")] = UNSET


class UpstreamEntry(_Entry, frozen=True):
    """What the API answers to one of its operations."""

    operation: Annotated[Text, Meta(description="A method and a path: `GET /pets/{petId}`.")]
    reply: ReplyEntry


class RequestEntry(_Entry, frozen=True):
    """What must be sent, by the API's own names; a place that is left out is not looked at."""

    operation: Annotated[str, Meta(description="A method and a path: `GET /pets/{petId}`.")] = ""
    path: JsonObject | UnsetType = UNSET
    query: JsonObject | UnsetType = UNSET
    header: JsonObject | UnsetType = UNSET
    cookie: JsonObject | UnsetType = UNSET
    body: Any = UNSET


class TextEntry(_Entry, frozen=True):
    """What the result's text says."""

    contains: tuple[Text, ...] = ()
    not_contains: tuple[Text, ...] = ()


class ExpectEntry(_Entry, frozen=True):
    """What must come of a call; whether it is an error is always said."""

    is_error: bool
    request: Annotated[
        RequestEntry | UnsetType | None,
        Meta(description="The one request that is sent; null: none is."),
    ] = UNSET
    structured: Annotated[Any, Meta(description="The structured content, whole.")] = UNSET
    text: TextEntry = TextEntry()


class CaseEntry(_Entry, frozen=True):
    """One call, what the API answers, and what must come of it."""

    id: Text
    call: CallEntry
    expect: ExpectEntry
    upstream: tuple[UpstreamEntry, ...] = ()


class CasesFile(_Entry, frozen=True):
    """The calls that a server is tested with, beside those that are generated."""

    version: Annotated[Literal[1], Meta(description="Of this format.")]
    cases: tuple[CaseEntry, ...]


class LocatedTests(Struct, frozen=True):
    """The file's cases, and where each value stands."""

    cases: tuple[CaseEntry, ...]
    at: Callable[[tuple[str, ...]], Location]
