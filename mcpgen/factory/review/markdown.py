"""A review as Markdown for a pull request; all text of documents and users is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from mcpgen.changelog import Level
from mcpgen.changelog.formats import format_change
from mcpgen.factory.review.bounded import MAX_LENGTH, Section, compose
from mcpgen.factory.review.model import (
    Part,
    Review,
    ReviewedChange,
    ReviewedWaiver,
    ReviewFinding,
    relocate,
)
from mcpgen.factory.review.texts import (
    ADDED,
    REMOVED,
    RENAMED,
    describe_changes,
    describe_result,
    escape,
    format_cell,
    format_code,
    list_figures,
)

_MORE: Final = "see `mcpgen review --json`"
_MAX_NAMED: Final = 5  # tools


def format_since(since: str, commit: str) -> str:
    """Return the compared state as text: "since `main` (1a2b3c4d5e6f)"."""
    return f"since {format_code(since)}{f' ({commit[:12]})' if commit else ''}"


def format_review(
    review: Review, *, limit: int = MAX_LENGTH - 1, level: int = 1, folder: str = ""
) -> str:
    """Return the review in at most `limit` UTF-16 code units.

    `level` is that of its heading. Paths of files begin with `folder`.
    """
    hashes = "#" * (level + 1)
    placed = [replace(it, problem=relocate(it.problem, folder)) for it in review.findings]
    breaking, rest = review.of_level(Level.MAJOR), review.of_level(Level.MINOR, Level.NONE)
    texts = review.of_level(Level.PATCH)
    over = [it for it in (*rest, *texts) if it.fails]
    failing = [it for it in placed if it.fails]
    others = [it for it in placed if not it.fails]
    waived = [it for it in others if it.problem.waived]
    hints = [it for it in others if not it.problem.waived]
    sections = (
        (
            f"To resolve ({len(failing) + len(over):,})",
            (*map(_format_finding, failing), *map(_format_change, over)),
        ),
        (f"Breaking changes ({len(breaking):,})", map(_format_change, breaking)),
        (
            f"Not verified ({len(review.claims):,})",
            (
                f"- {escape(it.subject)}: {escape(it.reason)} ({format_code(it.command)})"
                for it in review.claims
            ),
        ),
        (f"Waivers ({len(review.waivers):,})", map(_format_waiver, review.waivers)),
        (
            f"Other changes ({len(rest):,})",
            (_format_change(it) for it in rest if not it.fails),
        ),
        (f"Waived findings ({len(waived):,})", map(_format_finding, waived)),
        (
            f"Texts, by which models may behave otherwise ({len(texts):,})",
            (_format_change(it) for it in texts if not it.fails),
        ),
        (f"Hints ({len(hints):,})", map(_format_finding, hints)),
    )
    head = "\n".join(_format_head(review, level)) + "\n"
    made = [Section(f"{hashes} {title}", list(lines)) for title, lines in sections]
    return compose(head, made, limit, _MORE)


def _format_head(review: Review, level: int) -> Iterator[str]:
    about = format_code(review.server)
    yield f"# Review of {about}" if level == 1 else f"{'#' * level} {about}"
    yield ""
    since = format_since(review.since, review.commit)
    yield f"**{describe_result(review).capitalize()}**; {describe_changes(review)} {since}."
    if review.suggested_version and review.suggested_version != review.version:
        version = f"{format_code(review.suggested_version)} (was {format_code(review.version)})"
        yield f"Next version: {version}."
    for rules, word in ((ADDED, "added"), (REMOVED, "removed"), (RENAMED, "renamed")):
        names = review.list_tools(*rules)
        if names and not review.is_new:
            more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
            yield ""
            yield f"Tools {word}: {', '.join(map(format_code, names[:_MAX_NAMED]))}{more}"
    yield ""
    yield "| figure | before | now | difference |"
    yield "|---|---:|---:|---:|"
    for cells in list_figures(review.before, review.now):
        yield f"| {' | '.join(map(format_cell, cells))} |"


def _format_change(reviewed: ReviewedChange) -> str:
    change = reviewed.change
    waived = f"; waived {escape(str(reviewed.waived))}" if reviewed.waived else ""
    mark = "**to resolve** " if reviewed.fails else ""
    return f"- {mark}{escape(format_change(change))} [{change.rule}]{waived}"


def _format_finding(finding: ReviewFinding) -> str:
    problem = finding.problem
    place = f" at {format_code(str(problem.at))}" if problem.at else ""
    line = f"- **{problem.code}** ({problem.severity.value}{place}): {escape(problem.message)}"
    if problem.waived:
        return f"{line}; waived {escape(str(problem.waived))}"
    fix = problem.help if finding.fails or finding.part is not Part.LINT else ""
    return f"{line}  \n  fix: {escape(fix)}" if fix else line


def _format_waiver(reviewed: ReviewedWaiver) -> str:
    waiver = reviewed.state
    about = f"**{waiver.rule}**" + (f" of {format_code(waiver.tool)}" if waiver.tool else "")
    count = f"{waiver.findings:,} finding{'' if waiver.findings == 1 else 's'}"
    state = "**expired**" if waiver.is_expired else "until"
    mark = "**new** " if reviewed.is_new else ""
    details = f"{state} {waiver.expires}, {escape(waiver.owner)}: {escape(waiver.reason)}"
    return f"- {mark}{about}: {count}, {details}"
