"""Cases out of a configuration of mcp-jest: `{"server": ..., "tests": {"tools": {...}}}`.

Its expectations are JavaScript. Those that compare the text of the result are carried over; of the
others it is told that they are not, and the case then demands no more than success.
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
_SAYS_NOTHING = re.compile(r"exists|(?:content && )?content\.length > 0")


class NoConfigurationError(Exception):
    """What was read is no configuration of mcp-jest; says why."""


class ImportedCases(Struct, frozen=True):
    """The file that holds the cases, and what of the configuration is not in it."""

    content: bytes
    count: int
    left_out: tuple[str, ...]


def convert_mcp_jest(content: bytes) -> ImportedCases:
    """Make a `mcpgen.tests.yaml` of a configuration.

    Raises:
        NoConfigurationError: it is no JSON, or names no tests.
    """
    try:
        configuration = json.loads(content)
        tests = configuration["tests"]
        tools = tests.get("tools", {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoConfigurationError(f"it has no `tests` of mcp-jest's ({error})") from None
    named: dict[str, Any] = {name: {} for name in tools} if isinstance(tools, list) else tools
    left_out: list[str] = []
    cases = [_case(name, entry, left_out) for name, entry in named.items()]
    for kind in ("resources", "prompts"):
        left_out += [f"{kind}: `{name}` is no tool" for name in tests.get(kind, ())]
    text = yaml.safe_dump({"version": 1, "cases": cases}, sort_keys=False, allow_unicode=True)
    return ImportedCases(text.encode(), len(cases), tuple(left_out))


def _case(name: str, entry: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    expect: dict[str, Any] = {"is_error": bool(entry.get("shouldThrow", False))}
    left_out += _carry_over(name, str(entry.get("expect") or ""), expect)
    if entry.get("snapshot"):
        left_out.append(f"`{name}`: its snapshot")
    # "search:no-query" is the case `no-query` of the tool `search`.
    call = {"tool": name.partition(":")[0], "arguments": entry.get("args", {})}
    return {"id": name, "call": call, "expect": expect}


def _carry_over(name: str, expected: str, expect: dict[str, Any]) -> Iterator[str]:
    found = _EQUAL_TEXT.match(expected) or _PART_OF_TEXT.match(expected)
    if found:
        expect["text"] = {"contains": [found["text"]]}
    elif expected and not _SAYS_NOTHING.fullmatch(expected):
        yield f"`{name}`: `{expected}`"
