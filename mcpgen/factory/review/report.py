"""A review as JSON, and as diagnostics for SARIF."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mcpgen.changelog import Level
from mcpgen.changelog.formats import find_tool_lines, format_change, format_change_json
from mcpgen.diagnostics import Diagnostic, Location, Severity
from mcpgen.factory.review.model import Figures, Review, ReviewedChange, relocate
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.project.git import find_root
from mcpgen.pipeline.project.project_folder import find_listing

_HELP = "keep what clients rely on, or accept the change in waivers.yaml until a date"


def format_facts(review: Review) -> JsonObject:
    """Return the members of `mcpgen review --json`, but not `outcome` and `findings`."""
    return {
        "server": review.server,
        "since": review.since,
        "commit": review.commit,
        "new": review.is_new,
        "version": review.version,
        "suggested_version": review.suggested_version,
        "before": _format_figures(review.before),
        "now": _format_figures(review.now),
        "tools_added": list(review.list_tools("tool-added")),
        "tools_removed": list(review.list_tools("tool-removed")),
        "tools_renamed": list(review.list_tools("tool-renamed", "tool-renamed-aliased")),
        "level": max((it.change.level for it in review.changes), default=Level.NONE).word,
        "changes": [_format_change(it) for it in review.changes],
        "not_verified": [msgspec.to_builtins(it) for it in review.claims],
        "waivers": [{**msgspec.to_builtins(it.state), "new": it.is_new} for it in review.waivers],
    }


def _format_figures(figures: Figures) -> JsonObject:
    shown: JsonObject = msgspec.to_builtins(figures)
    return shown


def _format_change(reviewed: ReviewedChange) -> JsonObject:
    return {
        **format_change_json(reviewed.change),
        "fails": reviewed.fails,
        **({"waived": reviewed.waived.as_json()} if reviewed.waived else {}),
    }


def list_diagnostics(review: Review) -> Iterator[Diagnostic]:
    """Yield the findings, and the changes that break clients or fail, for SARIF.

    Files are relative to the root of the repository, as code hosts need them.
    """
    root = find_root(review.target)
    folder = review.target.resolve().relative_to(root).as_posix() if root else "."
    for finding in review.findings:
        yield relocate(finding.problem, folder)
    listing = find_listing(review.target)
    path = review.target / listing
    lines = find_tool_lines(path.read_bytes() if path.is_file() else b"")
    for reviewed in review.changes:
        change = reviewed.change
        if change.level is Level.MAJOR or reviewed.fails:
            problem = Diagnostic(
                change.rule,
                Severity.ERROR if reviewed.fails else Severity.WARNING,
                format_change(change),
                Location(listing, lines.get(change.tool, 1), 1),
                f"a {change.level.word} change since {review.since}",
                _HELP,
                waived=reviewed.waived,
            )
            yield relocate(problem, folder)
