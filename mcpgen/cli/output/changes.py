"""Changes of the tools, as `changelog`, `generate` and `pull` print them."""

from __future__ import annotations

from typing import Any

from mcpgen.changelog import Changelog, Level
from mcpgen.cli.output.report import Printer, format_count
from mcpgen.cli.output.visible import visible


def collect_changelog_facts(changelog: Changelog) -> dict[str, Any]:
    """Give a changelog as JSON carries it."""
    return {
        "level": changelog.level.word,
        "changes": [
            {
                "rule": change.rule,
                "level": change.level.word,
                "tool": change.tool,
                "path": change.path,
                "message": change.message,
                "certain": change.is_certain,
            }
            for change in changelog.changes
        ],
    }


def show_changes(printer: Printer, changelog: Changelog) -> None:
    """Print each change on a line of its own, those of texts apart."""
    graded = [change for change in changelog.changes if change.level > Level.PATCH]
    for change in graded:
        _show(printer, change.level.word, change.tool, change.message, change.rule)
    if texts := changelog.of_level(Level.PATCH):
        printer.result("texts, by which models may behave otherwise:")
        for change in texts:
            _show(printer, change.level.word, change.tool, change.message, change.rule)
    for change in changelog.of_level(Level.NONE):
        _show(printer, "note", change.tool, change.message, change.rule)


def count_changes(changelog: Changelog) -> str:
    """Count changes by level: "2 major and 1 minor change"."""
    counts = [
        f"{len(found)} {level.word}"
        for level in (Level.MAJOR, Level.MINOR, Level.PATCH)
        if (found := changelog.of_level(level))
    ]
    if not counts:
        return "no change"
    graded = sum(change.level > Level.NONE for change in changelog.changes)
    return f"{format_count(graded, 'change')} ({', '.join(counts)})"


def _show(printer: Printer, word: str, tool: str, message: str, rule: str) -> None:
    name = f"{visible(tool)}: " if tool else ""
    printer.result(f"  {word:<5}  {name}{visible(message)}  [{rule}]")
