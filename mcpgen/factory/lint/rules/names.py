"""Rules for names of tools: their form, their length, and their uniqueness."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from mcpgen.factory.lint.findings import Finding, flag
from mcpgen.factory.lint.listing import Listing
from mcpgen.ir.client_checks import read_text
from mcpgen.ir.portable_profile import LONGEST_TOOL_NAME, MAX_PREFIXED_NAME, MAX_TOOL_NAME

_CHARACTERS = re.compile(r"[a-z][a-z0-9_]*")


def check_names(listing: Listing) -> Iterator[Finding]:
    """Check the names of listed tools against the portable profile."""
    for tool in listing.tools:
        name = read_text(tool, "name")
        if not _CHARACTERS.fullmatch(name):
            yield flag(
                "tool-name",
                f"the name `{name}` has other characters than `a-z`, `0-9` and `_`"
                if name
                else "a tool without a name",
                tool=name,
                tokens=("name",),
                detail="other characters than `a-z`, `0-9` and `_`",
            )
        full = f"mcp__{listing.server}__{name}"
        if len(name) > MAX_TOOL_NAME:
            message = f"the name `{name}` has {len(name)} characters (limit: {MAX_TOOL_NAME})"
            yield flag("tool-name", message, tool=name, tokens=("name",), detail="too long")
        elif len(full) > MAX_PREFIXED_NAME and len(listing.server) < LONGEST_TOOL_NAME:
            message = f"`{full}` has {len(full)} characters (limit: {MAX_PREFIXED_NAME})"
            yield flag("tool-name", message, tool=name, tokens=("name",), detail="too long")


def check_duplicates(listing: Listing) -> Iterator[Finding]:
    """Report tools whose names differ at most in case."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for tool in listing.all_tools:
        name = read_text(tool, "name")
        by_name[name.lower()].append(name)
    for names in by_name.values():
        if len(names) > 1:
            quoted_names = " and ".join(f"`{name}`" for name in names[:3])
            yield flag(
                "duplicate-tool",
                f"{len(names)} tools have the same name: {quoted_names}",
                tool=names[0],
                tokens=("name",),
            )
