"""Types of `waivers.yaml`, the findings about a server that its owner accepts for a time.

The JSON Schema of the file is made from these types.
"""

from __future__ import annotations

from datetime import date
from fnmatch import fnmatchcase
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from mcpgen.diagnostics import Acceptance, Location
from mcpgen.ir.manifest_entries import Entry, Text, key

WAIVERS_FILE = "waivers.yaml"

Day: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date"})]


class WaiverEntry(Entry, frozen=True):
    """Findings of one rule that are accepted for a time."""

    rule: Annotated[
        Text,
        key(
            "The rule of `mcpgen lint`, `validate` or `audit`, or of a change of the tools.",
            "description-length",
            "tool-removed",
        ),
    ]
    reason: Annotated[
        str,
        key("Why the findings are accepted; reports show it.", "The vendor fixes it in June."),
    ]
    owner: Annotated[
        Text,
        key("Who answers for it: `@user`, `@org/team` or an e-mail address.", "@org/platform"),
    ]
    expires: Annotated[Day, key("The last day on which the waiver holds, in UTC.", "2026-12-31")]
    tool: Annotated[
        str,
        key(
            "The tool, or a glob of tools, whose findings are accepted. By default, those of all"
            " tools and of the server itself.",
            "get_pet",
            "admin_*",
        ),
    ] = ""


class WaiversFile(Entry, frozen=True):
    """Findings about a server that its owner accepts for a time."""

    version: Annotated[Literal[1], key("The version of this format.", 1)]
    waivers: Annotated[
        tuple[WaiverEntry, ...],
        key(
            "The waivers, in any order.",
            [
                {
                    "rule": "description-length",
                    "reason": "The vendor shortens it in June.",
                    "owner": "@me",
                    "expires": "2026-12-31",
                }
            ],
        ),
    ]


class Waiver(Acceptance, frozen=True, kw_only=True):
    """A valid waiver."""

    rule: str
    tool: str = ""  # a glob; "" for all tools and the server itself
    at: Location | None = None

    def is_expired(self, today: date) -> bool:
        """Whether the waiver has expired."""
        return today > self.expires

    def covers(self, rule: str, tool: str) -> bool:
        """Return whether it covers a finding of a tool, or of the server if `tool` is ""."""
        return rule == self.rule and (not self.tool or fnmatchcase(tool, self.tool))
