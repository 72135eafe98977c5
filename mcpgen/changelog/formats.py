"""Output formats of a changelog: Markdown for pull requests, annotations for GitHub Actions."""

from __future__ import annotations

import re

from mcpgen.changelog.compare import Change, Changelog, Level
from mcpgen.text.invisible import escape_comment_line

_HEADINGS = {
    Level.MAJOR: "Breaking changes",
    Level.MINOR: "Other changes",
    Level.PATCH: "Texts (the behaviour of models may change)",
    Level.NONE: "Worth knowing",
}


def format_markdown(changelog: Changelog) -> str:
    """Format the changes as Markdown, a list for each level; text of documents is escaped."""
    if not changelog.changes:
        return "No change in the tools.\n"
    parts: list[str] = []
    for level, heading in _HEADINGS.items():
        if changes := changelog.of_level(level):
            lines = [f"- {escape_comment_line(format_change(change))}" for change in changes]
            parts.append("\n".join((f"### {heading}", "", *lines)))
    return "\n\n".join(parts) + "\n"


def format_change(change: Change) -> str:
    """Format a change as one sentence with the name of its tool."""
    return f"`{change.tool}`: {change.message}" if change.tool else change.message


def format_change_json(change: Change) -> dict[str, str | bool]:
    """Return a change for `--json`."""
    return {
        "rule": change.rule,
        "level": change.level.word,
        "tool": change.tool,
        "path": change.path,
        "message": change.message,
        "certain": change.is_certain,
    }


def format_github_annotations(
    changelog: Changelog, file: str, listing: bytes, *, fail_on: Level | None = None
) -> str:
    """Return a workflow command of GitHub Actions for each change, at its tool's line of `file`.

    `listing` is the content of `file`. What is at or over `fail_on` is an error, else a major
    change is a warning, and all others are notices.
    """
    lines = find_tool_lines(listing)
    commands = []
    for change in changelog.changes:
        is_over = fail_on is not None and change.level >= fail_on
        kind = "error" if is_over else "warning" if change.level is Level.MAJOR else "notice"
        place = {"file": file, "line": str(lines.get(change.tool, 1)), "title": change.rule}
        properties = ",".join(f"{name}={_escape_property(value)}" for name, value in place.items())
        commands.append(f"::{kind} {properties}::{_escape_data(format_change(change))}\n")
    return "".join(commands)


def find_tool_lines(listing: bytes) -> dict[str, int]:
    """Return the line of each tool in a `listing.json` that mcpgen wrote, by name."""
    found = (
        (re.match(rb'\t"name":"([^"]+)",?\}?,?$', line), number)
        for number, line in enumerate(listing.splitlines(), 1)
    )
    return {match[1].decode(): number for match, number in found if match}


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
