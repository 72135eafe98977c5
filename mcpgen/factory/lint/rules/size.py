"""Rules for the number of tools and for what listing them costs."""

from __future__ import annotations

from collections.abc import Iterator

from mcpgen.diagnostics import Severity
from mcpgen.factory.lint.findings import Finding, flag
from mcpgen.factory.lint.listing import Listing
from mcpgen.ir.portable_profile import MANY_TOOLS, TOO_MANY_TOOLS


def check_tool_count(listing: Listing) -> Iterator[Finding]:
    """Check the number of listed tools against the portable profile."""
    count = len(listing.tools)
    if count > MANY_TOOLS:
        limit = TOO_MANY_TOOLS if count > TOO_MANY_TOOLS else MANY_TOOLS
        severity = Severity.ERROR if count > TOO_MANY_TOOLS else Severity.WARNING
        message = f"{count:,} tools are listed (limit: {limit})"
        yield flag("too-many-tools", message, severity=severity)


def check_token_budget(listing: Listing, budget: int) -> Iterator[Finding]:
    """Check the estimated tokens of the list."""
    cost = listing.token_cost
    if cost > budget:
        yield flag(
            "token-budget",
            f"the list of tools costs about {cost:,} tokens (budget: {budget:,})",
        )
