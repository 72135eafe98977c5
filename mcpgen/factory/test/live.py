"""Calls of the real API by `mcpgen test --live`: the user's cases, and calls without arguments.

Only tools that read are called, unless the user asks for more. Skipped tools are reported with the
reason.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct

from mcpgen.diagnostics import did_you_mean
from mcpgen.factory.junit import Group
from mcpgen.factory.packages import GeneratedPackage, NoPackageError
from mcpgen.factory.test.cassettes import Cassette, Player, Recorder
from mcpgen.factory.test.own_tests import compare_expected_result
from mcpgen.ir.tests_file import CallEntry, CaseEntry, ExpectEntry
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.response.redaction import Redactor
from mcpgen.testing.client.client import Client, NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError

_GROUP = "the API"


class Live(Struct, frozen=True):
    """The tools to call, and the cassette to record or replay."""

    with_writes: bool = False
    tools: Collection[str] = ()  # empty: all that may be called
    record: Path | None = None
    replay: Path | None = None


def run_live(package: GeneratedPackage, cases: Sequence[CaseEntry], live: Live) -> Group:
    """Call the API, or a recording of it, with the server's tools.

    Raises:
        NoPackageError: the base URL of the API is required and unknown, or a tool is unknown.
        CassetteError: the file to replay is not a valid cassette.
        OSError: the cassette cannot be read or written.
    """
    return asyncio.run(_run(package, cases, live))


async def _run(package: GeneratedPackage, cases: Sequence[CaseEntry], live: Live) -> Group:
    redactor = Redactor(_secrets(package))
    settings: dict[str, str] = {}
    group = Group(_GROUP)
    recorder = None
    async with AsyncExitStack() as stack:
        if live.replay is not None:
            player = Player(_base_url(package), Cassette.read(live.replay), redactor)
            settings = package.mock_environment(await stack.enter_async_context(player.start()))
        elif live.record is not None:
            recorder = Recorder(_base_url(package), redactor)
            settings = package.base_urls(await stack.enter_async_context(recorder.start()))
        command, environment = package.command, package.environment(settings)
        client = await stack.enter_async_context(await Client.over_stdio(command, environment))
        tools = {tool["name"]: tool for tool in await client.list_tools()}
        _refuse_unknown(live.tools, tools)
        for case in _with_simple_calls(cases, tools):
            if live.tools and case.call.tool not in live.tools:
                continue
            if reason := _find_obstacle(case, tools.get(case.call.tool), live):
                group.untested.append((case.id, reason))
                continue
            problems = await _problems(client, case)
            group.add(case.id, [redactor.clean(problem) for problem in problems])
    if recorder is not None and live.record is not None:
        recorder.cassette.write(live.record)
    return group


def _refuse_unknown(requested: Collection[str], tools: Collection[str]) -> None:
    for name in sorted(requested):
        if name not in tools:
            hint = did_you_mean(name, tools, "`mcpgen tools` lists what it has")
            raise NoPackageError(f"the server lists no tool `{name}`", help=hint)


def _with_simple_calls(cases: Sequence[CaseEntry], tools: dict[str, JsonObject]) -> list[CaseEntry]:
    """Return the cases without mocked replies, and a call of each tool that has no case."""
    chosen = [case for case in cases if not case.upstream]
    called = {case.call.tool for case in chosen}
    succeeds = ExpectEntry(is_error=False)
    return chosen + [
        CaseEntry(id=f"{name}: no arguments", call=CallEntry(tool=name), expect=succeeds)
        for name in tools
        if name not in called
    ]


def _find_obstacle(case: CaseEntry, tool: JsonObject | None, live: Live) -> str:
    name = case.call.tool
    if tool is None:
        return ""  # the call reports it
    only_reads = tool.get("annotations", {}).get("readOnlyHint", False)
    if not only_reads and not live.with_writes and name not in live.tools:
        return "it may change data: use --tool with its name, or --live-writes"
    missing = set(tool["inputSchema"].get("required", ())) - case.call.arguments.keys()
    if missing and not case.expect.is_error:
        return f"it requires {', '.join(sorted(missing))}: write a case in mcpgen.tests.yaml"
    return ""


async def _problems(client: Client, case: CaseEntry) -> list[str]:
    try:
        result = await client.call_tool(case.call.tool, case.call.arguments)
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        return [f"the call was not answered: {error}"]
    return list(compare_expected_result(case, result))


def _secrets(package: GeneratedPackage) -> tuple[str, ...]:
    """Return the values of the server's secret settings in the environment."""
    names = (item["name"] for item in package.contract.get("environment", ()) if item.get("secret"))
    return tuple(os.environ[name] for name in names if os.environ.get(name))


def _base_url(package: GeneratedPackage) -> str:
    """Return the configured base URL of the API, else that of its document."""
    if package.contract.get("sources"):
        raise NoPackageError("a cassette supports one API, but this server has several")
    variable = f"{package.contract['env_prefix']}BASE_URL"
    servers = package.contract.get("servers", ())
    if os.environ.get(variable):
        return os.environ[variable]
    if not servers:
        raise NoPackageError("the document has no base URL", help=f"set {variable}")
    url: str = servers[0]["url"]
    for name, described in servers[0].get("variables", {}).items():
        url = url.replace(f"{{{name}}}", described["default"])
    return url
