"""The reviews of a workspace as one page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpgen.factory.review.bounded import MAX_LENGTH, Section, compose, measure, share
from mcpgen.factory.review.markdown import format_review, format_since
from mcpgen.factory.review.texts import (
    describe_changes,
    describe_result,
    escape,
    format_code,
    format_difference,
    format_number,
)
from mcpgen.factory.review.workspace import WorkspaceReview
from mcpgen.factory.workspace.fleet import ServerResult
from mcpgen.pipeline.options import Outcome

_MORE: Final = "see `mcpgen ws review --json`"
_ROOM_FOR_NOTE: Final = 100
_LEAST_OF_A_SERVER: Final = 4_000  # more than the head of a review


def format_workspace(found: WorkspaceReview, *, limit: int = MAX_LENGTH - 1) -> str:
    """Return the reviews of a workspace: a table of changed servers, then each of them."""
    rows = [_format_server(it) for it in found.servers]
    columns = ("| server | result | changes | tokens |", "|---|---|---|---:|")
    removed = [f"- {format_code(path)}" for path in found.removed]
    overview = compose(
        "\n".join(_format_workspace_head(found)) + "\n",
        [
            Section(f"## Changed servers ({len(rows):,})", rows, columns),
            Section(f"## Removed servers ({len(removed):,})", removed),
        ],
        limit // 2,
        _MORE,
    )
    left = limit - measure(overview) - _ROOM_FOR_NOTE
    reviewed = [it for it in found.servers if it.review is not None]
    shown = reviewed[: max(1, left // _LEAST_OF_A_SERVER)]
    full = [_format_details(it, left) for it in shown]
    most = share([measure(text) for text in full], left)
    parts = [
        text if measure(text) <= most else _format_details(it, most)
        for it, text in zip(shown, full, strict=True)
    ]
    missing = len(reviewed) - len(shown)
    note = f"\nand {missing:,} more servers: {_MORE}\n" if missing else ""
    return "".join((overview, *parts, note))


def _format_details(result: ServerResult, limit: int) -> str:
    if result.review is None:
        return ""
    return "\n" + format_review(result.review, limit=limit - 1, level=2, folder=result.server)


def _format_server(result: ServerResult) -> str:
    review = result.review
    if review is None:
        reasons = "; ".join(it.message for it in result.problems[:1]) or result.summary
        return f"| {format_code(result.server)} | **no review**: {escape(reasons)} | | |"
    tokens = format_number(review.now.tokens)
    if difference := format_difference(review.before.tokens, review.now.tokens).removeprefix("0"):
        tokens += f" ({difference})"
    state = describe_result(review)
    shown = state if review.outcome is Outcome.DONE else f"**{state}**"
    return f"| {format_code(result.server)} | {shown} | {describe_changes(review)} | {tokens} |"


def _format_workspace_head(found: WorkspaceReview) -> Iterator[str]:
    to_resolve = sum(it.outcome is not Outcome.DONE for it in found.servers)
    yield "# Review of the workspace"
    yield ""
    since = format_since(found.since, found.commit)
    total = f"{len(found.servers):,} changed server{'' if len(found.servers) == 1 else 's'}"
    has = "has" if to_resolve == 1 else "have"
    result = f"{to_resolve:,} of {total} {has} something to resolve"
    yield f"**{result if to_resolve else f'Nothing to resolve in {total}'}** {since};"
    yield f"{found.unchanged:,} unchanged."
    if found.other_files:
        plural = "" if found.other_files == 1 else "s"
        yield f"{found.other_files:,} changed file{plural} outside of all servers."
