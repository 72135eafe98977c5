"""Reading and validation of `waivers.yaml`, by its JSON Schema and by further checks."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.ir.waivers import WAIVERS_FILE, Waiver, WaiversFile
from mcpgen.manifest.owners import check_owner
from mcpgen.manifest.typed_file import read_typed


def read_waivers_file(
    content: bytes, rules: Collection[str], rules_of_tools: Collection[str], problems: Problems
) -> tuple[Waiver, ...]:
    """Read the waivers. `rules` are all known ones, `rules_of_tools` those that concern tools.

    Raises:
        RejectedError: the file is invalid.
    """
    read = read_typed(content, WAIVERS_FILE, WaiversFile, "waivers", problems)
    waivers: list[Waiver] = []
    for number, entry in enumerate(read.value.waivers):
        at = ("waivers", str(number))
        check_owner(read, (*at, "owner"), entry.owner)
        if not entry.reason.strip():
            read.refuse((*at, "reason"), "empty reason", "say why the findings are accepted")
        if entry.rule not in rules:
            read.refuse(
                (*at, "rule"),
                f"unknown rule `{entry.rule}`",
                did_you_mean(
                    entry.rule, rules, "write the rule as a finding states it in its brackets"
                ),
            )
        elif entry.tool and entry.rule not in rules_of_tools:
            read.refuse(
                (*at, "tool"),
                f"`{entry.rule}` concerns the server, not a tool",
                "remove `tool`",
            )
        expires = _parse_date(entry.expires)
        if expires is None:
            read.refuse(
                (*at, "expires"),
                f"invalid date `{entry.expires}`",
                "write the last day on which the waiver holds, such as 2026-12-31",
            )
            continue
        waivers.append(
            Waiver(
                entry.reason,
                entry.owner,
                expires,
                rule=entry.rule,
                tool=entry.tool,
                at=read.at((*at, "rule")),
            )
        )
    if problems.has_errors:
        raise RejectedError
    return tuple(waivers)


def _parse_date(text: str) -> date | None:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if found.isoformat() == text else None  # other forms of ISO 8601 are hard to read
