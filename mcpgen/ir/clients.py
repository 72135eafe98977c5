"""Limits of MCP clients and model APIs, from `clients.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

Effect: TypeAlias = Literal["ok", "degraded", "dropped", "breaks"]
"""Effect of a limit on a tool, from harmless to "the request with all tools fails"."""
EFFECTS: Final[tuple[Effect, ...]] = ("ok", "degraded", "dropped", "breaks")

Count: TypeAlias = Literal[
    "all-enum-values",
    "all-optional-parameters",
    "all-properties",
    "all-unions",
    "depth",
    "description",
    "instructions",
    "tool-name",
    "tools",
]
"""Quantities that `most` limits. Those with "all-" are totals of the tools of a request."""


class ClientLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """One limit of one client: `most` of what `counts` names, a `pattern`, or `features`."""

    id: str  # unique within its client
    rule: str  # of `mcpgen lint`
    effect: Effect
    source: str
    verified: str  # year and month
    counts: Count | None = None
    most: int = 0
    around: str = "{tool}"  # the form in which the client uses a tool's name
    pattern: str = ""
    features: tuple[str, ...] = ()  # of input schemas and of tools, as in `schema_features`


class Client(Struct, frozen=True, forbid_unknown_fields=True):
    """A client or a model API. It also has the limits of the APIs that it `extends`."""

    id: str
    title: str
    is_api: bool = False  # a model API, which users reach through clients
    extends: tuple[str, ...] = ()
    limit: tuple[ClientLimit, ...] = ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    client: tuple[Client, ...]


@cache
def read_clients() -> Mapping[str, Client]:
    """Return the known clients by id, each with all its limits, inherited ones first."""
    content = Path(__file__).with_name("clients.toml").read_bytes()
    rows = {row.id: row for row in msgspec.toml.decode(content, type=_File).client}
    return {
        row.id: msgspec.structs.replace(row, limit=tuple(_collect_limits(row, rows)))
        for row in rows.values()
    }


def _collect_limits(client: Client, rows: Mapping[str, Client]) -> Sequence[ClientLimit]:
    inherited = [limit for base in client.extends for limit in rows[base].limit]
    return [*inherited, *client.limit]
