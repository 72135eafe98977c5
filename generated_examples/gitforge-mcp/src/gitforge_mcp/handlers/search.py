"""Hand-written overrides of the `search` tools."""

import re
from collections.abc import Mapping
from typing import Any

from mcpgen.runtime import Context, ToolError, before

ISSUES = frozenset({"repo", "org", "author", "assignee", "label", "is", "updated"})
CODE = frozenset({"repo", "org", "path", "ext"})
QUALIFIER = re.compile(r"(?:^|\s)-?([a-z]+):(?!//)")
QUOTED = re.compile(r'"[^"]*"')


@before("GET /search/issues")
async def check_issue_query(ctx: Context, arguments: Mapping[str, Any]) -> None:
    """Refuse qualifiers that Gitforge would search for as words, and then find nothing."""
    refuse_unknown(arguments["q"], ISSUES)


@before("GET /search/code")
async def check_code_query(ctx: Context, arguments: Mapping[str, Any]) -> None:
    """Refuse unknown qualifiers of code."""
    refuse_unknown(arguments["q"], CODE)


def refuse_unknown(query: str, known: frozenset[str]) -> None:
    """Check the qualifiers of a query; what is in quotes has none.

    Raises:
        ToolError: one of them is unknown.
    """
    used = QUALIFIER.findall(QUOTED.sub('""', query))
    if unknown := [name for name in used if name not in known]:
        names = ", ".join(f"{name}:" for name in sorted(known))
        raise ToolError(f"unknown qualifier {unknown[0]}: in q; there are {names}")
