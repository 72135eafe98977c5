"""Messages about the types of a snippet: where, what, and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcpgen.runtime.code.stubs import StubFile
from mcpgen.text.prose import end_sentence

_LINE: Final = re.compile(r"code\.py:(\d+:\d+): error\[([\w-]+)\] (.*)")
_QUOTED: Final = re.compile(r"`([^`]+)`")
_MAX_SHOWN: Final = 10
_CALL_FAULTS: Final = frozenset(
    {
        "invalid-argument-type",
        "missing-argument",
        "no-matching-overload",
        "parameter-already-assigned",
        "too-many-positional-arguments",
        "unknown-argument",
    }
)
_MISSING: Final = {
    "filter": "write a comprehension",
    "input": "nobody can be asked here",
    "map": "write a comprehension",
    "open": "there are no files",
}
_MODULES: Final = (
    "json, re, math, datetime, collections, itertools, random, base64, asyncio and typing"
)


def describe_problems(report: str, stubs: StubFile, describe: str) -> str:
    """Return the problems of a type check with hints; `describe` is the tool that shows functions.

    Each is a line "LINE:COLUMN: message. Hint."
    """
    found = [match.groups() for match in map(_LINE.match, report.splitlines()) if match]
    if not found:
        return report.strip()
    lines: list[str] = []
    seen: set[str] = set()  # a hint is given once
    for place, rule, message in found[:_MAX_SHOWN]:
        hints = [it for it in _find_hints(rule, message, stubs, describe) if it not in seen]
        seen.update(hints)
        lines.append(" ".join([f"{place}: {end_sentence(message)}", *hints]))
    if len(found) > _MAX_SHOWN:
        lines.append(f"… and {len(found) - _MAX_SHOWN} more.")
    return "\n".join(lines)


def _find_hints(rule: str, message: str, stubs: StubFile, describe: str) -> Iterator[str]:
    names = _QUOTED.findall(message)
    if rule == "unresolved-reference" and names:
        yield _suggest_name(names[0], stubs, describe)
    elif rule == "unresolved-import":
        yield f"Only {_MODULES} can be imported."
    elif rule in _CALL_FAULTS:
        name = next((name for name in names if name in stubs.functions), "")
        if name:
            yield f"It is `{stubs.find_signature(name)}`; arguments are passed by name."
    elif rule == "invalid-key" and "did you mean" not in message:
        members = [member for name in names for member in stubs.find_members(name)]
        if members:
            yield f"It has {', '.join(f'`{name}`' for name in members[: _MAX_SHOWN * 2])}."
    elif rule == "unresolved-attribute" and "None" in message:
        yield "The value may be None: check that first."


def _suggest_name(name: str, stubs: StubFile, describe: str) -> str:
    if name in _MISSING:
        return f"It is not available: {_MISSING[name]}."
    if close := stubs.suggest(name):
        return f"Did you mean {' or '.join(f'`{it}`' for it in close)}?"
    return f"Read the functions with `{describe}` first."
