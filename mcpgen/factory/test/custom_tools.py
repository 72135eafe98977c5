"""Comparison of the tools in `handlers/` with their record, `tests/tools.json`.

`mcpgen test --update` writes the record. For generated tools, `mcpgen generate` writes
`tests/generated/tools.json`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from mcpgen.contract.snapshot import snapshot_entry
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.test.results import Group
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.client.client import Client

TOOLS_FILE = "tests/tools.json"
_NOWHERE = "http://127.0.0.1:9"  # no API is called, but settings must be complete


def list_custom_tools(package: GeneratedPackage) -> list[JsonObject]:
    """Return the snapshot of each listed tool that is not generated, in the listed order.

    Raises:
        RpcError, NoAnswerError, ConnectionLostError: the server does not list its tools.
    """
    generated = {tool["name"] for tool in package.read_tools()}.union(package.search_tools)
    return [
        snapshot_entry(tool)
        for tool in asyncio.run(_list_tools(package))
        if tool["name"] not in generated
    ]


async def _list_tools(package: GeneratedPackage) -> list[JsonObject]:
    environment = package.environment(package.mock_environment(_NOWHERE))
    async with await Client.over_stdio(package.command, environment) as client:
        return await client.list_tools()


def read_record(content: bytes) -> list[JsonObject]:
    """Parse a record.

    Raises:
        ValueError: it is invalid.
    """
    try:
        return [{**entry, "name": str(entry["name"])} for entry in json.loads(content)["tools"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"it has no tools ({error})") from None


def format_record(tools: Sequence[JsonObject]) -> bytes:
    """Return a record with one line per tool."""
    lines = ",\n".join(json.dumps(tool, sort_keys=True, ensure_ascii=False) for tool in tools)
    return f'{{"tools": [\n{lines}\n]}}\n'.encode()


def compare_tools(tools: Sequence[JsonObject], recorded: Sequence[JsonObject]) -> Group:
    """Compare each tool with its record."""
    group = Group(TOOLS_FILE)
    found = {tool["name"]: tool for tool in tools}
    expected = {tool["name"]: tool for tool in recorded}
    for name in {**expected, **found}:
        if name not in found:
            group.failed.append((name, "recorded, but not listed"))
        elif name not in expected:
            group.failed.append((name, "listed, but not recorded"))
        elif changed := sorted(
            key
            for key in found[name].keys() | expected[name].keys()
            if found[name].get(key) != expected[name].get(key)
        ):
            group.failed.append((name, f"differs from its record: {', '.join(changed)}"))
        else:
            group.passed.append(name)
    return group
