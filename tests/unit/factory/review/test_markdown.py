"""Tests of review pages: hostile text is escaped, length is limited, failures come first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from mcpgen.changelog import Change, Level
from mcpgen.diagnostics import Acceptance, Diagnostic, Location, Severity
from mcpgen.factory.review.bounded import MAX_LENGTH, measure
from mcpgen.factory.review.markdown import format_review
from mcpgen.factory.review.model import (
    Claim,
    Figures,
    Part,
    Review,
    ReviewedChange,
    ReviewedWaiver,
    ReviewFinding,
)
from mcpgen.factory.review.texts import format_code
from mcpgen.factory.review.workspace import WorkspaceReview
from mcpgen.factory.review.workspace_markdown import format_workspace
from mcpgen.factory.status.model import Score, WaiverState
from mcpgen.factory.workspace.fleet import ServerResult
from mcpgen.pipeline.options import Outcome

HOSTILE = (
    "@octocat #12 GH-34 <img src=x onerror=alert(1)> [click](https://evil.example) | cell\n"
    "# heading\n- item\n```\nfence\n```\nhttps://evil.example www.evil.example user@evil.example"
    " ![x](//evil.example/pixel) `code | @octocat` &lt;b&gt; \u202egnp.exe\u2066 **bold** <!-- "
)
MARKDOWN = MarkdownIt("commonmark").enable("table")


def change(
    level: Level = Level.MAJOR, message: str = "was removed", tool: str = "zap", **more: Any
) -> ReviewedChange:
    return ReviewedChange(Change("tool-removed", level, tool, message), **more)


def finding(
    message: str = "broken", *, fails: bool = True, waived: Acceptance | None = None
) -> ReviewFinding:
    at = Location("src/a.json", 3, 1)
    problem = Diagnostic(
        "array-items", Severity.WARNING, message, at, "why", "mend it", waived=waived
    )
    return ReviewFinding(Part.LINT, problem, fails)


def review(server: str = "pets", **more: Any) -> Review:
    return Review(server=server, target=Path(), since="main", commit="0123456789abcdef", **more)


def hostile_review(server: str = HOSTILE, text: str = HOSTILE) -> Review:
    waiver = Acceptance(text, text, date(2027, 1, 1))
    return Review(
        server=server,
        target=Path(),
        since=text,
        commit="0123456789abcdef",
        version=text,
        suggested_version=f"{text}!",
        before=Figures(tests=text, scores={"2025-11-25": Score(90, 0.9, "PASS", True)}),
        now=Figures(tests=text, kill_rate=0.5),
        changes=(
            change(tool=text, message=text, fails=True),
            change(Level.PATCH, text, text),
            change(Level.MINOR, text, text, waived=waiver),
        ),
        findings=(finding(text), finding(text, fails=False, waived=waiver)),
        claims=(Claim(text, text, f"mcpgen test '{text}'"),),
        waivers=(
            ReviewedWaiver(WaiverState("array-items", text, text, "2027-01-01", False, 1, text)),
        ),
    )


def headings(page: str) -> list[str]:
    return re.findall(r"^#+ .*", page, re.MULTILINE)


def flatten(tokens: Sequence[Token]) -> list[Token]:
    return [it for token in tokens for it in (token, *flatten(token.children or ()))]


def texts_outside_code(page: str) -> list[str]:
    return [it.content for it in flatten(MARKDOWN.parse(page)) if it.type == "text"]


@pytest.mark.parametrize("level", [1, 2])
def test_hostile_text_becomes_no_markup(level: int) -> None:
    page = format_review(hostile_review(), level=level)
    kinds = {it.type for it in flatten(MARKDOWN.parse(page))}
    assert not kinds & {"link_open", "image", "html_inline", "html_block", "fence", "code_block"}
    assert [it for it in headings(page) if "heading" in it] == headings(page)[:1]  # as code
    assert re.search("[\u202a-\u202e\u2066-\u2069]", page) is None
    for text in texts_outside_code(page):
        assert re.search(r"@\w|#\d|\bGH-\d", text) is None, text
    without_code = re.sub(r"`[^`\n]*`", "", page)
    assert re.search(r"https?://|www\.", without_code) is None  # what GitHub makes links of


def test_hostile_text_does_not_break_a_table() -> None:
    page = format_review(hostile_review())
    tokens = MARKDOWN.parse(page)
    assert sum(it.type == "table_open" for it in tokens) == 1
    cells = [it for it in tokens if it.type in ("td_open", "th_open")]
    assert len(cells) % 4 == 0


@pytest.mark.parametrize("text", ["`" * 9, "|" * 9, "\n\n", "\\", "", "-", "`a", "\ud800"])
def test_names_of_any_characters_stay_on_their_line(text: str) -> None:
    page = format_review(hostile_review(text, text))
    page.encode("utf-8", "backslashreplace")
    assert sum(it.type == "table_open" for it in MARKDOWN.parse(page)) == 1
    assert headings(page)[1:] == headings(format_review(hostile_review("a", "a")))[1:]


def test_a_name_stays_code() -> None:
    assert format_code("a`b|c @x") == "`a'b/c @x`"
    assert format_code(" ") == "-"


def test_a_review_of_2000_changes_is_below_the_limit() -> None:
    changes = tuple(change(message=f"{HOSTILE * 20} {number}") for number in range(2000))
    claims = (Claim("tests", "not verified: there is no evidence", "mcpgen test"),)
    page = format_review(
        review(changes=changes, findings=tuple(map(finding, map(str, range(2000)))), claims=claims)
    )
    assert measure(page) < MAX_LENGTH
    assert len(page) < 65_536
    assert "## Breaking changes (2,000)" in page
    assert "- tests: not verified: there is no evidence (`mcpgen test`)" in page
    assert (
        len(re.findall(r"^and [\d,]+ more: see `mcpgen review --json`$", page, re.MULTILINE)) == 2
    )


def test_texts_of_characters_outside_the_basic_plane_are_below_the_limit() -> None:
    changes = tuple(change(message="\U0001f600" * 390) for _ in range(2000))
    assert measure(format_review(review(changes=changes))) < MAX_LENGTH


def test_what_matters_most_comes_first() -> None:
    acceptance = Acceptance("known", "@me", date(2027, 1, 1))
    page = format_review(
        review(
            changes=(
                change(),
                change(Level.MINOR),
                change(Level.PATCH, "has another title", fails=True),
            ),
            findings=(
                finding("first"),
                finding("waived one", fails=False, waived=acceptance),
                finding("a hint", fails=False),
            ),
            claims=(Claim("tests", "not verified", "mcpgen test"),),
            waivers=(
                ReviewedWaiver(
                    WaiverState("array-items", "known", "@me", "2027-01-01", True, 1, "zap"), True
                ),
            ),
        )
    )
    assert headings(page) == [
        "# Review of `pets`",
        "## To resolve (2)",
        "## Breaking changes (1)",
        "## Not verified (1)",
        "## Waivers (1)",
        "## Other changes (1)",
        "## Waived findings (1)",
        "## Hints (1)",
    ]
    assert "**1 finding and 1 change to resolve**" in page
    assert "- **array-items** (warning at `src/a.json:3:1`): first  \n  fix: mend it\n" in page
    assert (
        "- **new** **array-items** of `zap`: 1 finding, **expired** 2027-01-01, @&#8203;me: known\n"
        in page
    )
    assert "waived one; waived until 2027-01-01 by @&#8203;me: known" in page


def test_figures_show_what_is_not_verified() -> None:
    page = format_review(
        review(
            before=Figures(
                tools=14,
                tokens=3442,
                scores={"2025-11-25": Score(100, 0.97, "PASS", True)},
                tests="450 passed",
                kill_rate=1.0,
            ),
            now=Figures(
                tools=15, tokens=3400, scores={"2025-11-25": Score(59, 0.7, "FAIL", False)}
            ),
        )
    )
    assert "| tools | 14 | 15 | +1 |" in page
    assert "| tokens of the list | 3,442 | 3,400 | -42 |" in page
    row = "| score 2025-11-25 | 100 PASS (97 % exercised) | \\~59 FAIL (70 % exercised) | -41 |"
    assert row in page
    assert "| tests | 450 passed | not verified |  |" in page
    assert "| kill rate | 100 % | not verified |  |" in page


# Workspaces


def workspace(*servers: ServerResult, **more: Any) -> WorkspaceReview:
    return WorkspaceReview(Path(), "main", "0123456789abcdef", servers, **more)


def result(server: str, found: Review | None, outcome: Outcome = Outcome.DONE) -> ServerResult:
    return ServerResult(server, outcome, "reviewed", review=found)


def test_changed_servers_are_shown_in_full_if_they_fit() -> None:
    servers = [result(f"servers/{name}", review(f"servers/{name}")) for name in "abc"]
    page = format_workspace(workspace(*servers, unchanged=197, removed=("servers/old",)))
    assert "**Nothing to resolve in 3 changed servers** since `main` (0123456789ab);\n197" in page
    assert [it for it in headings(page) if it.startswith("## `")] == [
        "## `servers/a`",
        "## `servers/b`",
        "## `servers/c`",
    ]
    assert "- `servers/old`" in page
    assert "more" not in page


def test_paths_in_a_workspace_begin_with_the_server() -> None:
    found = result("servers/a", review("servers/a", findings=(finding(),)), Outcome.FINDINGS)
    page = format_workspace(workspace(found, unchanged=0))
    assert "at `servers/a/src/a.json:3:1`" in page
    assert "**1 of 1 changed server has something to resolve**" in page
    assert "| `servers/a` | **1 finding to resolve** | no change in the tools | - |" in page


def test_one_large_review_does_not_displace_the_others() -> None:
    large = review("large", changes=tuple(change(message="x" * 300) for _ in range(2000)))
    servers = [result("large", large), *(result(f"s{it}", review(f"s{it}")) for it in range(9))]
    page = format_workspace(workspace(*servers, unchanged=0))
    assert 50_000 < measure(page) < MAX_LENGTH
    for number in range(9):
        assert f"## `s{number}`\n" in page


def test_200_hostile_servers_are_below_the_limit() -> None:
    servers = [result(f"{HOSTILE}{number}", hostile_review()) for number in range(200)]
    page = format_workspace(workspace(*servers, unchanged=0, removed=(HOSTILE,) * 200))
    assert measure(page) < MAX_LENGTH
    assert re.search(r"^and \d+ more servers: see `mcpgen ws review --json`$", page, re.MULTILINE)
    kinds = {it.type for it in flatten(MARKDOWN.parse(page))}
    assert not kinds & {"link_open", "image", "html_inline", "html_block", "fence", "code_block"}


def test_a_server_without_a_review_is_listed_with_the_reason() -> None:
    problem = Diagnostic("manifest", Severity.ERROR, f"unknown key {HOSTILE}")
    found = ServerResult("servers/a", Outcome.REJECTED, "no review", (problem,))
    page = format_workspace(workspace(found, unchanged=0))
    assert "| `servers/a` | **no review**: unknown key @&#8203;octocat" in page
