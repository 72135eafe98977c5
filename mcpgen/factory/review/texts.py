"""Texts of a review: the result and the changes in words, figures, and escaping."""

from __future__ import annotations

from typing import Final

from mcpgen.changelog import Level
from mcpgen.factory.review.model import Figures, Review
from mcpgen.factory.status.model import Score
from mcpgen.text.invisible import escape_comment_line
from mcpgen.text.prose import shorten

ADDED: Final = ("tool-added",)
REMOVED: Final = ("tool-removed",)
RENAMED: Final = ("tool-renamed", "tool-renamed-aliased")
_MAX_TEXT: Final = 400  # characters of one text, before it is escaped
_MAX_NAME: Final = 100  # the same of a name, or a cell of a table
_MAX_REVISIONS: Final = 10
_UNKNOWN: Final = "not verified"


def describe_result(review: Review) -> str:
    """Return the result in words: "2 findings and 1 change to resolve", or "nothing to resolve"."""
    counts = [
        f"{count:,} {noun}{'' if count == 1 else 's'}"
        for count, noun in (
            (len(review.of_findings(fails=True)), "finding"),
            (sum(it.fails for it in review.changes), "change"),
        )
        if count
    ]
    return f"{' and '.join(counts)} to resolve" if counts else "nothing to resolve"


def describe_changes(review: Review) -> str:
    """Return the changes in words: "1 tool added, 2 renamed; 3 major, 1 patch"."""
    if review.is_new:
        return "a new server"
    kinds = [
        f"{len(names):,} {word}"
        for rules, word in ((ADDED, "added"), (REMOVED, "removed"), (RENAMED, "renamed"))
        if (names := review.list_tools(*rules))
    ]
    levels = [
        f"{len(found):,} {level.word}"
        for level in (Level.MAJOR, Level.MINOR, Level.PATCH)
        if (found := review.of_level(level))
    ]
    parts = [f"tools: {', '.join(kinds)}" if kinds else "", ", ".join(levels)]
    return "; ".join(filter(None, parts)) or "no change in the tools"


def list_figures(before: Figures, now: Figures) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of figures: name, before, now, difference."""
    rows = [
        (name, format_number(was), format_number(is_now), format_difference(was, is_now))
        for name, was, is_now in (
            ("tools", before.tools, now.tools),
            ("tokens of the list", before.tokens, now.tokens),
        )
    ]
    for revision in sorted({*before.scores, *now.scores})[-_MAX_REVISIONS:]:
        was, is_now = before.scores.get(revision), now.scores.get(revision)
        difference = format_difference(was.score, is_now.score) if was and is_now else ""
        cells = (_format_score(was, "-"), _format_score(is_now, _UNKNOWN))
        rows.append((f"score {revision}", *cells, difference))
    if not before.scores and not now.scores:
        rows.append(("score", "-", _UNKNOWN, ""))
    rows.append(("tests", before.tests or "-", now.tests or _UNKNOWN, ""))
    rates = [None if it is None else round(100 * it) for it in (before.kill_rate, now.kill_rate)]
    shown = ["" if it is None else f"{it} %" for it in rates]
    rows.append(("kill rate", shown[0] or "-", shown[1] or _UNKNOWN, format_difference(*rates)))
    return rows


def format_number(value: int | None) -> str:
    """Return a figure; "-" if it is unknown."""
    return "-" if value is None else f"{value:,}"


def format_difference(was: int | None, is_now: int | None) -> str:
    """Return the difference of two figures with its sign; "" if one of them is unknown."""
    if was is None or is_now is None:
        return ""
    return f"{is_now - was:+,}" if is_now != was else "0"


def _format_score(score: Score | None, unknown: str) -> str:
    if score is None:
        return unknown
    mark = "" if score.is_reliable else "~"
    return f"{mark}{score.score} {score.verdict} ({100 * score.coverage:.0f} % exercised)"


def escape(text: str) -> str:
    """Return the beginning of a text for a line of Markdown, without any markup."""
    return escape_comment_line(shorten(text, _MAX_TEXT))


def format_cell(text: str) -> str:
    """Return the beginning of a text for a cell of a table, without any markup."""
    return escape_comment_line(shorten(text, _MAX_NAME))


def format_code(text: str) -> str:
    """Return a name as code; what could end the code or a table cell is replaced."""
    name = shorten(text, _MAX_NAME).translate(str.maketrans("`|", "'/"))
    return escape_comment_line(f"`{name}`") if name.strip() else "-"
