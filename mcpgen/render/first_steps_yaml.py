"""The entries of a first manifest that are comments: remove the `# ` of a line to use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcpgen.ir.first_steps import FirstSteps
from mcpgen.jsonschema.types import JsonValue
from mcpgen.render.credentials_yaml import in_flow
from mcpgen.render.filters import quote
from mcpgen.text.safe_text import SafeText

_MEANINGS = {
    "name": "the name of the tool",
    "fixed": "sent with every call, and hidden from clients",
    "default": "sent if the call leaves the argument out",
    "confirm": "asked before anything is sent",
}


def comment_exclude(steps: FirstSteps) -> list[str]:
    """Return the lines of a rule that leaves an operation out, to stand below `select:`."""
    if not steps.exclude:
        return []
    return [f"#   - exclude: {quote(steps.exclude)}  # no tool for this operation"]


def comment_operations(steps: FirstSteps, *, has_operations: bool) -> SafeText:
    """Return the entries of operations; with `has_operations`, the key stands above them."""
    if not steps.operations:
        return SafeText("")
    lines = [] if has_operations else ["operations:"]
    for operation, entry in steps.operations.items():
        lines.append(f"  {quote(operation)}:")
        lines += _settings(entry)
    start = "" if has_operations else "\n"
    return SafeText(start + "".join(f"# {line}\n" for line in lines))


def _settings(entry: Mapping[str, JsonValue]) -> Iterator[str]:
    for setting, value in entry.items():
        if setting != "parameters":
            yield f"    {setting}: {in_flow(value)}  # {_MEANINGS[setting]}"
            continue
        yield "    parameters:"
        for name, change in value.items():
            meaning = " and ".join(_MEANINGS[key] for key in change)
            yield f"      {in_flow(name)}: {in_flow(change)}  # {meaning}"
