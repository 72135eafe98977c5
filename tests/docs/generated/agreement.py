"""Tables of decisions about results of `mcpgen validate` and the official suite."""

from __future__ import annotations

from collections.abc import Iterable

from mcpgen.factory.validate.requirements import read_requirements
from tests.validate.agreement.compare import read_decisions


def disagreement_table() -> str:
    """Return a row for each check on which both disagree."""
    rows = [
        f"| `{it.check}` | {', '.join(it.servers)} | {', '.join(it.revisions)} | {it.right}"
        f" | {it.reason} | {it.section} |"
        for it in read_decisions().disagreement
    ]
    return _table("check of the suite | servers | revisions | right | reason | section", rows)


def finding_table() -> str:
    """Return a row for each requirement and group of servers that violate it."""
    levels = {it.id: it.level.upper() for it in read_requirements().requirement}
    rows = [
        f"| `{it.rule}` | {levels[it.rule]} | {', '.join(it.servers)} | {it.reason}"
        f" | {it.section} |"
        for it in read_decisions().finding
    ]
    return _table("finding | level | servers | what the server does | section", rows)


def _table(head: str, rows: Iterable[str]) -> str:
    columns = head.count("|") + 1
    return "\n".join([f"| {head} |", "|---" * columns + "|", *rows])
