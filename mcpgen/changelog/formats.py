"""A changelog as others read it: Markdown for pull requests, and annotations of GitHub's."""

from __future__ import annotations

import re

from mcpgen.changelog.compare import Change, Changelog
from mcpgen.changelog.rules import Level
from mcpgen.text.markdown import escape_markdown_line

_HEADINGS = {
    Level.MAJOR: "Breaking changes",
    Level.MINOR: "Other changes",
    Level.PATCH: "Texts (the behaviour of models may change)",
    Level.NONE: "Worth knowing",
}
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def markdown(changelog: Changelog) -> str:
    """Give the changes as Markdown, a list for each level; what documents say stays plain text."""
    if not changelog.changes:
        return "No change in the tools.\n"
    parts: list[str] = []
    for level, heading in _HEADINGS.items():
        if changes := changelog.of_level(level):
            lines = [
                f"- {escape_markdown_line(_BREAKS.sub(' ', told(change)))}" for change in changes
            ]
            parts.append("\n".join((f"### {heading}", "", *lines)))
    return "\n\n".join(parts) + "\n"


def told(change: Change) -> str:
    """Give a change as one sentence with the name of its tool."""
    return f"`{change.tool}`: {change.message}" if change.tool else change.message


def github_annotations(
    changelog: Changelog, file: str, surface: bytes, *, fail_on: Level | None = None
) -> str:
    """Give a workflow command of GitHub Actions for each change, at its tool's line of `file`.

    `surface` is what lies at `file`. What is at or over `fail_on` is an error, else a major change
    is a warning, and all others are notices.
    """
    lines = _lines_of_tools(surface)
    commands = []
    for change in changelog.changes:
        is_over = fail_on is not None and change.level >= fail_on
        kind = "error" if is_over else "warning" if change.level is Level.MAJOR else "notice"
        place = {"file": file, "line": str(lines.get(change.tool, 1)), "title": change.rule}
        properties = ",".join(f"{name}={_property(value)}" for name, value in place.items())
        commands.append(f"::{kind} {properties}::{_data(told(change))}\n")
    return "".join(commands)


def _lines_of_tools(surface: bytes) -> dict[str, int]:
    found = (
        (re.match(rb'"([a-z0-9_]+)": \{$', line), number)
        for number, line in enumerate(surface.splitlines(), 1)
    )
    return {match[1].decode(): number for match, number in found if match}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
