"""Manifest entries under `operations`: settings of one operation, or of many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, field

from mcpgen.ir.manifest_types import (
    ArgumentName,
    Entry,
    EnvironmentName,
    OptionalHeaderName,
    PageCount,
    Seconds,
    Text,
    Tokens,
    ToolName,
    key,
)

EFFECTS = ("read", "write", "destructive")
ALL_OPERATIONS = "*"
KEY_METHODS = ("PATCH", "POST")
"""Methods whose requests become safe to retry with an idempotency key."""


def is_bulk_key(key: str) -> bool:
    """Return whether a key of `operations` covers many: `*`, `tag:NAME` or `effect:NAME`."""
    return key == ALL_OPERATIONS or key.startswith(("tag:", "effect:"))


class ParameterEntry(Entry, frozen=True):
    """What becomes of one argument of a tool."""

    name: Annotated[ArgumentName, key("Another name.", "pet_name")] = ""
    description: Annotated[
        str, key("The description, instead of that of the document.", "The name of the pet.")
    ] = ""
    hidden: Annotated[
        bool, key("Whether the argument is hidden from clients, and never sent.", True)
    ] = False
    fixed: Annotated[
        Any,
        key("A value that every call sends. The argument is hidden from clients.", "json", 20),
    ] = UNSET
    default: Annotated[
        Any,
        key("The value if the call, or the environment variable, gives none.", 20, "available"),
    ] = UNSET
    from_environment: Annotated[
        EnvironmentName,
        key(
            "An environment variable of the server. The argument is hidden from clients, and every"
            " call sends the value of the variable.",
            "SHOP_TEAM_ID",
        ),
    ] = ""
    secret: Annotated[
        bool | None,
        key(
            "Whether the value of `from_environment` is masked in logs and results, like a"
            " credential. By default, if the parameter has the format `password` or the name of a"
            " credential.",
            True,
        ),
    ] = None


class ResultEntry(Entry, frozen=True):
    """The part of a response that a tool returns."""

    select: Annotated[
        tuple[Text, ...],
        key("The members to keep.", ["id", "owner.name", "items[].id"]),
    ] = ()
    max_items: Annotated[
        Annotated[int, Meta(ge=1)] | None, key("The most items of a list.", 50)
    ] = None
    max_bytes: Annotated[
        Annotated[int, Meta(ge=256)] | None, key("The most bytes of the result.", 20_000)
    ] = None


class PaginateEntry(Entry, frozen=True):
    """How many pages of a list one call may read."""

    max_pages: Annotated[PageCount, key("The most pages that one call reads.", 5)]


class PollEntry(Entry, frozen=True):
    """Repeat the request until a member of the response has one of some values."""

    until: Annotated[Text, key("The member to compare.", "status", "job.state")]
    values: Annotated[
        tuple[Any, ...],
        Meta(min_length=1),
        key("The values that end the wait.", ["done", "failed"]),
    ]
    interval_seconds: Annotated[Seconds, key("The time between two requests.", 2)] = 2.0
    timeout_seconds: Annotated[Seconds, key("The longest wait.", 60)] = 60.0


class RetryEntry(Entry, frozen=True):
    """How often a request is sent that may be repeated."""

    attempts: Annotated[
        int, Meta(ge=1, le=10), key("The most requests, the first one included.", 3)
    ]


class AnnotationsEntry(
    Entry,
    frozen=True,
    rename={
        "read_only": "readOnlyHint",
        "destructive": "destructiveHint",
        "idempotent": "idempotentHint",
        "open_world": "openWorldHint",
    },
):
    """The tool annotations of MCP, where the HTTP method says too little."""

    read_only: Annotated[bool | None, key("Whether the tool changes nothing.", True)] = None
    destructive: Annotated[
        bool | None, key("Whether the tool may overwrite or delete something.", False)
    ] = None
    idempotent: Annotated[
        bool | None, key("Whether a second call with the same arguments changes nothing.", True)
    ] = None
    open_world: Annotated[
        bool | None, key("Whether the tool reaches systems outside of this server.", True)
    ] = None


class OperationEntry(Entry, frozen=True):
    """The settings of one operation, or of many."""

    name: Annotated[ToolName | None, key("The name of the tool.", "find_pets")] = None
    aliases: Annotated[
        tuple[ToolName, ...],
        key("Other names by which clients can call the tool. They are not listed.", ["get_pets"]),
    ] = ()
    title: Annotated[str, key("The title that clients show.", "Find pets")] = ""
    description: Annotated[
        str, key("The description, instead of that of the document.", "Find pets by status.")
    ] = ""
    append: Annotated[
        str, key("A text to add to the description.", "Ask for at most ten pets.")
    ] = ""
    parameters: Annotated[
        dict[str, ParameterEntry],
        key(
            "What becomes of the arguments, by name. `body.status` is a property of the body.",
            {"limit": {"default": 20}, "body.status": {"fixed": "new"}},
        ),
    ] = field(default_factory=dict)
    result: Annotated[
        ResultEntry | None,
        key("The part of the response that the tool returns.", {"select": ["items[].id"]}),
    ] = None
    paginate: Annotated[
        Literal[False] | PaginateEntry | None,
        key(
            "How many pages of a list one call may read. `false` reads one page only.",
            {"max_pages": 5},
            False,
        ),
    ] = None
    poll: Annotated[
        PollEntry | None,
        key(
            "Repeat the request until the response shows one of these values.",
            {"until": "status", "values": ["done", "failed"]},
        ),
    ] = None
    confirm: Annotated[
        str,
        key(
            "A question for the user (elicitation). Nothing is sent before the user agrees.",
            "Delete this pet?",
        ),
    ] = ""
    annotations: Annotated[
        AnnotationsEntry | None,
        key("The annotations of the tool.", {"readOnlyHint": True}),
    ] = None
    timeout_seconds: Annotated[
        Seconds | None, key("The most time for one call of the API, retries included.", 30)
    ] = None
    retry: Annotated[
        RetryEntry | None,
        key("How often a request is sent that may be repeated.", {"attempts": 3}),
    ] = None
    idempotency_header: Annotated[
        OptionalHeaderName | None,
        key(
            "The header that gets a fresh key for each POST and PATCH, the same for its retries. By"
            ' default, the one that the document declares; `""` for none.',
            "Idempotency-Key",
            "",
        ),
    ] = None
    expose: Annotated[
        Literal["tool", "resource", "template", "prompt", "off"],
        key("What the operation is served as. `off` leaves it out.", "resource", "off"),
    ] = "tool"


class EffectiveEntry(Struct, frozen=True):
    """The merged settings of one operation, from all manifest entries that cover it."""

    entry: OperationEntry = OperationEntry()
    own: Tokens = ()  # the place of the operation's own entry, existing or not
    inherited: Mapping[Tokens, Tokens] = field(default_factory=dict)
    """Places of settings from other entries: keys inside the entry -> keys in the manifest."""

    def tokens(self, *inside: str) -> Tokens:
        """Return the keys that lead to a setting in the manifest."""
        for length in range(len(inside), 0, -1):
            if inside[:length] in self.inherited:
                return (*self.inherited[inside[:length]], *inside[length:])
        return (*self.own, *inside)

    def is_inherited(self, setting: str) -> bool:
        """Return whether a setting, or a member of it, comes from an entry that covers many."""
        return any(inside[0] == setting for inside in self.inherited)
