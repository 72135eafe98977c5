"""Conversion of a mcp-jest configuration: `{"server": ..., "tests": {"tools": {...}}}`.

Its expectations are JavaScript. Comparisons with the text of the result are converted; all others
are reported, and their cases only require success.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct

_EQUAL_TEXT = re.compile(r"""content\[0\]\.text\s*={2,3}\s*(['"])(?P<text>.*)\1\Z""")
_PART_OF_TEXT = re.compile(
    r"""content\[0\]\.text\.(?:includes|contains)\((['"])(?P<text>.*)\1\)\Z"""
)
_TRIVIAL = re.compile(r"exists|(?:content && )?content\.length > 0")


class NoConfigurationError(Exception):
    """An invalid configuration of mcp-jest."""


class ImportedCases(Struct, frozen=True):
    """The converted file, and the parts of the configuration that were not converted."""

    content: bytes
    count: int
    skipped: tuple[str, ...]


def convert_mcp_jest(content: bytes) -> ImportedCases:
    """Convert a configuration to `mcpgen.tests.yaml`.

    Raises:
        NoConfigurationError: it is not JSON, or has no tests.
    """
    try:
        configuration = json.loads(content)
        tests = configuration["tests"]
        tools = tests.get("tools", {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoConfigurationError(f"it has no `tests` for mcp-jest ({error})") from None
    named: dict[str, Any] = {name: {} for name in tools} if isinstance(tools, list) else tools
    skipped: list[str] = []
    cases = [_case(name, entry, skipped) for name, entry in named.items()]
    for kind in ("resources", "prompts"):
        skipped += [f"{kind}: `{name}` is not a tool" for name in tests.get(kind, ())]
    text = yaml.safe_dump({"version": 1, "cases": cases}, sort_keys=False, allow_unicode=True)
    return ImportedCases(text.encode(), len(cases), tuple(skipped))


def _case(name: str, entry: dict[str, Any], skipped: list[str]) -> dict[str, Any]:
    expect: dict[str, Any] = {"is_error": bool(entry.get("shouldThrow", False))}
    skipped += _carry_over(name, str(entry.get("expect") or ""), expect)
    if entry.get("snapshot"):
        skipped.append(f"`{name}`: its snapshot")
    # "search:no-query" is the case `no-query` of the tool `search`.
    call = {"tool": name.partition(":")[0], "arguments": entry.get("args", {})}
    return {"id": name, "call": call, "expect": expect}


def _carry_over(name: str, expected: str, expect: dict[str, Any]) -> Iterator[str]:
    found = _EQUAL_TEXT.match(expected) or _PART_OF_TEXT.match(expected)
    if found:
        expect["text"] = {"contains": [found["text"]]}
    elif expected and not _TRIVIAL.fullmatch(expected):
        yield f"`{name}`: `{expected}`"
