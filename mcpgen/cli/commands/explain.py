"""`mcpgen tools --explain TOOL`: the settings of a tool, and what decides each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.cli.targets import find_target
from mcpgen.cli.usage_error import UsageError
from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.pipeline.outcome import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.explain import Setting

_MAX_VALUE = 60


def explain_tool(printer: Printer, server: Sequence[str], name: str) -> int:
    """Print each setting of a tool with its value and its source.

    Raises:
        UsageError: the server is no folder that mcpgen made, or has no such tool.
    """
    from mcpgen.factory.explain import ExplainedTool, explain

    package = find_target(server).package
    if package is None:
        raise UsageError("--explain needs the folder of a server that mcpgen generated")
    problems = Problems()
    try:
        with printer.progress() as progress:
            found = explain(Path(package.directory), name, problems, progress)
    except RejectedError:
        printer.problems(problems)
        return printer.finish(Outcome.REJECTED)
    if not isinstance(found, ExplainedTool):
        raise UsageError(
            f"unknown tool `{name}`",
            help=did_you_mean(name, found, "`mcpgen tools` lists the tools"),
        )
    printer.fact(
        tool=found.name,
        operation=found.operation,
        settings=[_as_json(each) for each in found.settings],
    )
    printer.result(f"{visible(found.name)}: {visible(found.operation)}")
    rows = [(each.setting, _format_value(each.value), _source(each)) for each in found.settings]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for setting, value, source in rows:
        printer.result(f"  {setting:<{widths[0]}}  {value:<{widths[1]}}  {source}")
    return printer.finish(Outcome.DONE)


def _as_json(explained: Setting) -> dict[str, Any]:
    at = explained.at
    return {
        "setting": explained.setting,
        "value": explained.value,
        "from": explained.source,
        "file": at.file if at else None,
        "line": (at.line or None) if at else None,
        "entry": explained.entry or None,
    }


def _source(explained: Setting) -> str:
    if explained.at is None:
        return explained.source
    place = f"{explained.at.file}:{explained.at.line}" if explained.at.line else explained.at.file
    return f"{visible(place)} (`{visible(explained.entry)}`)" if explained.entry else visible(place)


def _format_value(value: Any) -> str:
    if value in (None, "", []):
        return "-"
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"
