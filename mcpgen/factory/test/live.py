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
from mcpgen.factory.packages import GeneratedPackage, NoPackageError
from mcpgen.factory.test.cassettes import Cassette, Player, Recorder
from mcpgen.factory.test.own_cases import result_problems
from mcpgen.factory.test.results import Group
from mcpgen.ir.tests_file import CallEntry, CaseEntry, ExpectEntry
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.response.redaction import Redactor
from mcpgen.testing.client.client import Client, NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError

_GROUP = "the API"


class Live(Struct, frozen=True):
    """What is called, and whether it is written down or read from what was."""

    with_writes: bool = False
    tools: Collection[str] = ()  # none: all that may be called
    record: Path | None = None
    replay: Path | None = None


def run_live(package: GeneratedPackage, cases: Sequence[CaseEntry], live: Live) -> Group:
    """Call the API through the server's tools, or what a cassette has of it.

    Raises:
        NoPackageError: the package does not say where its API is, and that is needed; or it has
            not every tool that was asked for.
        CassetteError: the file to replay is no cassette.
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
            if reason := _why_not(case, tools.get(case.call.tool), live):
                group.untested.append((case.id, reason))
                continue
            problems = [redactor.clean(problem) for problem in await _problems(client, case)]
            if problems:
                group.failed.append((case.id, "\n".join(problems)))
            else:
                group.passed.append(case.id)
    if recorder is not None and live.record is not None:
        recorder.cassette.write(live.record)
    return group


def _refuse_unknown(asked: Collection[str], tools: Collection[str]) -> None:
    for name in sorted(asked):
        if name not in tools:
            hint = did_you_mean(name, tools, "`mcpgen tools` lists what it has")
            raise NoPackageError(f"the server lists no tool `{name}`", help=hint)


def _with_simple_calls(cases: Sequence[CaseEntry], tools: dict[str, JsonObject]) -> list[CaseEntry]:
    """The cases that do not make up what the API says, and a call of each tool without any."""
    chosen = [case for case in cases if not case.upstream]
    called = {case.call.tool for case in chosen}
    succeeds = ExpectEntry(is_error=False)
    return chosen + [
        CaseEntry(id=f"{name}: no arguments", call=CallEntry(tool=name), expect=succeeds)
        for name in tools
        if name not in called
    ]


def _why_not(case: CaseEntry, tool: JsonObject | None, live: Live) -> str:
    name = case.call.tool
    if tool is None:
        return ""  # calling it says so
    only_reads = tool.get("annotations", {}).get("readOnlyHint", False)
    if not only_reads and not live.with_writes and name not in live.tools:
        return "it may change something: name it with --tool, or use --live-writes"
    missing = set(tool["inputSchema"].get("required", ())) - case.call.arguments.keys()
    if missing and not case.expect.is_error:
        return f"it needs {', '.join(sorted(missing))}: write a case in mcpgen.tests.yaml"
    return ""


async def _problems(client: Client, case: CaseEntry) -> list[str]:
    try:
        result = await client.call_tool(case.call.tool, case.call.arguments)
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        return [f"the call was not answered: {error}"]
    return list(result_problems(case, result))


def _secrets(package: GeneratedPackage) -> tuple[str, ...]:
    """What the environment has of the server's settings that must not be shown."""
    names = (item["name"] for item in package.contract.get("environment", ()) if item.get("secret"))
    return tuple(os.environ[name] for name in names if os.environ.get(name))


def _base_url(package: GeneratedPackage) -> str:
    """Where the API is: as it is configured, else as its document says.

    Raises:
        NoPackageError: neither says so, or there are several.
    """
    if package.contract.get("sources"):
        raise NoPackageError("a cassette is of one API, and this server has several")
    variable = f"{package.contract['env_prefix']}BASE_URL"
    servers = package.contract.get("servers", ())
    if os.environ.get(variable):
        return os.environ[variable]
    if not servers:
        raise NoPackageError("the document says no address of its API", help=f"set {variable}")
    url: str = servers[0]["url"]
    for name, described in servers[0].get("variables", {}).items():
        url = url.replace(f"{{{name}}}", described["default"])
    return url
