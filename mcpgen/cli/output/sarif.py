"""Findings as SARIF 2.1.0, which code hosts show beside the lines."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcpgen.diagnostics import Diagnostic, Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def write_sarif(path: Path, found: Sequence[Diagnostic], rules: Mapping[str, str]) -> None:
    """Write findings to a file; `rules` maps the rules that can be found to what they require.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(format_sarif(found, rules), indent=2, ensure_ascii=True) + "\n"
    path.write_text(text, "utf-8", newline="\n")


def format_sarif(found: Sequence[Diagnostic], rules: Mapping[str, str]) -> dict[str, Any]:
    """Return a SARIF log with one run."""
    titles = {**rules, **{each.code: each.code for each in found if each.code not in rules}}
    numbers = {rule: number for number, rule in enumerate(titles)}
    driver = {
        "name": "mcpgen",
        "semanticVersion": importlib.metadata.version("mcpgen"),
        "rules": [
            {"id": rule, "shortDescription": {"text": title}} for rule, title in titles.items()
        ],
    }
    results = [_format_result(each, numbers[each.code]) for each in found]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _format_result(problem: Diagnostic, number: int) -> dict[str, Any]:
    text = "\n".join(filter(None, (problem.message, problem.why, problem.help)))
    result: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": number,
        "level": _LEVELS[problem.severity],
        "message": {"text": text},
    }
    at = problem.at
    if at is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": Path(at.file).as_posix()}}
        if at.line:
            physical["region"] = {"startLine": at.line, "startColumn": max(at.column, 1)}
        location: dict[str, Any] = {"physicalLocation": physical}
        if at.pointer:
            location["logicalLocations"] = [{"fullyQualifiedName": at.pointer}]
        result["locations"] = [location]
    if problem.waived is not None:
        justification = str(problem.waived)
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": justification}
        ]
    return result
