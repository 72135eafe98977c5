"""Tests of changelogs for pull requests and GitHub Actions, with document text escaped."""

from __future__ import annotations

import pytest

from mcpgen.changelog import Change, Changelog, Level, next_version
from mcpgen.changelog.formats import format_github_annotations, format_markdown

LISTING = b"""[
{"description":"x",
\t"inputSchema":{
\t\t"name":"not_a_tool"
\t},
\t"name":"get_pet",
\t"title":"x"},
{"inputSchema":{"type":"object"},
\t"name":"zap"}
]
"""


def change(level: Level, message: str, tool: str = "zap") -> Change:
    return Change("tool-removed", level, tool, message)


def test_markdown_lists_changes_by_level_with_texts_last() -> None:
    changes = (
        change(Level.MAJOR, "was removed (`GET /zap`)"),
        change(Level.PATCH, 'has another title: "Zap"'),
        change(Level.PATCH, "the server's instructions changed", tool=""),
    )
    assert format_markdown(Changelog(changes)) == (
        "### Breaking changes\n\n"
        "- `zap`: was removed (`GET /zap`)\n\n"
        "### Texts (the behaviour of models may change)\n\n"
        '- `zap`: has another title: "Zap"\n'
        "- the server's instructions changed\n"
    )
    assert format_markdown(Changelog()) == "No change in the tools.\n"


def test_markdown_escapes_markup_from_the_document() -> None:
    text = format_markdown(Changelog((change(Level.MAJOR, "has <img> `a\n\n# b` @team [x](y) |"),)))
    assert text.splitlines()[2] == "- `zap`: has &lt;img> `a # b` @&#8203;team \\[x\\](y) \\|"


def test_annotations_have_a_location_and_are_escaped() -> None:
    changes = (
        change(Level.MAJOR, "50 %\nof ::error::", "get_pet"),
        change(Level.MINOR, "is new"),
        change(Level.PATCH, "is gone from the file", "removed"),
    )
    assert format_github_annotations(Changelog(changes), "a,b:c.json", LISTING).splitlines() == [
        "::warning file=a%2Cb%3Ac.json,line=6,title=tool-removed::`get_pet`: 50 %25%0Aof ::error::",
        "::notice file=a%2Cb%3Ac.json,line=9,title=tool-removed::`zap`: is new",
        "::notice file=a%2Cb%3Ac.json,line=1,title=tool-removed::`removed`: is gone from the file",
    ]
    over = format_github_annotations(Changelog(changes), "a", LISTING, fail_on=Level.MINOR)
    assert [line.split()[0] for line in over.splitlines()] == ["::error", "::error", "::notice"]


@pytest.mark.parametrize(
    ("version", "level", "expected"),
    [
        ("1.2.3", Level.MAJOR, "2.0.0"),
        ("1.2.3", Level.MINOR, "1.3.0"),
        ("1.2.3", Level.PATCH, "1.2.4"),
        ("1.2.3", Level.NONE, "1.2.3"),
        ("0.4.2", Level.MAJOR, "0.5.0"),
        ("0.4.2", Level.MINOR, "0.4.3"),
        ("0.4.2", Level.PATCH, "0.4.3"),
        ("2.0", Level.MINOR, "2.1.0"),
        ("1.2.3rc1", Level.MINOR, "1.3.0"),
        ("", Level.MAJOR, ""),
        ("dev", Level.MAJOR, ""),
    ],
)
def test_the_highest_level_decides_the_next_version(
    version: str, level: Level, expected: str
) -> None:
    assert next_version(version, level) == expected
