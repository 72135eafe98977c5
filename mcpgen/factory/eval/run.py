"""Run of tasks: for each, a server of its own, and the stateful mock in its first state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.factory.eval.agents import (
    Agent,
    AgentError,
    Assignment,
    ScriptedAgent,
    TooManyCallsError,
)
from mcpgen.factory.eval.calls import MadeCall, find_forbidden, match_calls, shorten
from mcpgen.factory.eval.report import Evaluation, TaskResult
from mcpgen.factory.eval.state import find_violations
from mcpgen.factory.mock_api import serve_mock_api
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.ir.eval_tasks import EvalTask
from mcpgen.jsonschema.types import JsonObject
from mcpgen.testing.client.client import Client, NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError, StdioConnection
from mcpgen.testing.suite.compare import text_of
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.testing import MockUpstream

_CALL_SECONDS: Final = 60.0
_CALL_ROLE: Final = "call"


class EvalOptions(Struct, frozen=True):
    """The bounds of each task."""

    max_calls: int = 30
    timeout_seconds: float = 120.0


class ServerFailedError(Exception):
    """The server did not start, or did not answer; the message states why."""


class Subject(Struct, frozen=True):
    """A version of a server. `aliases` has the current names of tools by all others."""

    package: GeneratedPackage
    aliases: Mapping[str, str]

    def rename(self, tool: str) -> str:
        """Return the current name of a tool."""
        return self.aliases.get(tool, tool)

    def find_former_name(self, tool: str, known: frozenset[str]) -> str:
        """Return the name by which this version knows a tool."""
        former = (old for old, new in self.aliases.items() if new == tool and old in known)
        return tool if tool in known else next(former, tool)


async def list_tool_names(package: GeneratedPackage) -> frozenset[str]:
    """Return the names of all tools that a client can call.

    Raises:
        ServerFailedError: the server does not list its tools.
    """
    async with (
        serve_mock_api(package) as (_, environment),
        _connect(package, environment, "accept") as client,
    ):
        return _name_tools(package, await _list_tools(client))


async def evaluate(
    subject: Subject,
    tasks: Sequence[EvalTask],
    agent: Agent,
    options: EvalOptions,
    progress: Callable[[str], None],
) -> Evaluation:
    """Let an agent solve tasks, one after the other."""
    package, results = subject.package, []
    async with serve_mock_api(package, stateful=True) as (mock, environment):
        for task in tasks:
            progress(f"task {task.id}")
            mock.forget()
            results.append(await _run_task(subject, task, agent, options, mock, environment))
    return Evaluation(package.contract["name"], agent.name, tuple(results))


async def _run_task(
    subject: Subject,
    task: EvalTask,
    agent: Agent,
    options: EvalOptions,
    mock: MockUpstream,
    environment: Mapping[str, str],
) -> TaskResult:
    is_empty_check = (
        isinstance(agent, ScriptedAgent)
        and bool(task.state)
        and not any(find_violations(task.state, mock, {}))
    )
    reasons, answer, recorder = [], "", _Recorder(subject, options.max_calls)
    definitions = 0
    try:
        async with _connect(subject.package, environment, task.user) as client:
            tools = await _list_tools(client)
            definitions = sum(map(estimate_tokens, tools))
            recorder.use(client, _name_tools(subject.package, tools))
            assignment = Assignment(
                task,
                tools,
                client.server.get("instructions", ""),
                options.max_calls,
                options.timeout_seconds,
            )
            async with asyncio.timeout(options.timeout_seconds):
                answer = await agent.solve(assignment, recorder.call)
    except TimeoutError:
        called = format_count(len(recorder.made), "call")
        reasons.append(f"no answer within {options.timeout_seconds:g} seconds, after {called}")
    except (AgentError, ServerFailedError) as error:
        reasons.append(str(error))
    matching = match_calls(task, recorder.made)
    reasons += [matching.missing] if matching.missing else []
    reasons += find_forbidden(task, recorder.made)
    reasons += find_violations(task.state, mock, matching.results)
    if is_empty_check and not reasons:
        reasons.append("its `state` holds before the first call, so that it proves nothing")
    return TaskResult(
        id=task.id,
        goal=task.goal,
        reasons=tuple(reasons),
        calls=tuple(recorder.made),
        definition_tokens=definitions,
        answer=answer,
    )


class _Recorder:
    """Calls tools for an agent, and records the calls."""

    def __init__(self, subject: Subject, max_calls: int) -> None:
        self.made: list[MadeCall] = []
        self._subject = subject
        self._max_calls = max_calls
        self._client: Client | None = None
        self._known: frozenset[str] = frozenset()

    def use(self, client: Client, known: frozenset[str]) -> None:
        """Send calls to `client` from now on. `known` are the names of its tools."""
        self._client, self._known = client, known

    async def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Call a tool (`agents.CallTool`).

        Raises:
            TooManyCallsError: the agent has no call left.
            ServerFailedError: the server did not answer.
        """
        if self._client is None or len(self.made) >= self._max_calls:
            raise TooManyCallsError(f"the agent made more than {self._max_calls} calls")
        sent = self._subject.find_former_name(tool, self._known)
        named, tool_arguments = self._unwrap(tool, arguments)
        name = self._subject.rename(named)
        try:
            result = await self._client.call_tool(sent, arguments)
        except RpcError as error:
            message = str(error.message)
            self.made.append(MadeCall(name, tool_arguments, message))
            return {"error": {"code": error.code, "message": message}}
        except (ConnectionLostError, NoAnswerError) as error:
            self.made.append(MadeCall(name, tool_arguments, str(error)))
            raise ServerFailedError(f"the server failed in a call of `{named}`: {error}") from None
        text = text_of(result) if result.get("isError") else ""
        failure = text or "isError" if result.get("isError") else ""
        tokens = estimate_tokens({"content": result.get("content", [])})
        self.made.append(
            MadeCall(name, tool_arguments, failure, result.get("structuredContent"), tokens)
        )
        return {"result": result}

    def _unwrap(self, tool: str, arguments: JsonObject) -> tuple[str, JsonObject]:
        """Return the tool that a call is about: of `call_tool`, the one that it calls."""
        caller = self._subject.package.contract.get("search", {}).get(_CALL_ROLE)
        name, tool_arguments = arguments.get("name"), arguments.get("arguments") or {}
        if tool == caller and isinstance(name, str) and isinstance(tool_arguments, dict):
            return name, tool_arguments
        return tool, arguments


def _name_tools(package: GeneratedPackage, listed: Sequence[JsonObject]) -> frozenset[str]:
    return frozenset(tool["name"] for tool in (*listed, *package.list_unlisted_tools()))


async def _list_tools(client: Client) -> list[JsonObject]:
    try:
        return await client.list_tools()
    except (RpcError, ConnectionLostError, NoAnswerError) as error:
        raise ServerFailedError(
            f"the server does not list its tools: {shorten(str(error))}"
        ) from None


@asynccontextmanager
async def _connect(
    package: GeneratedPackage, environment: Mapping[str, str], user: str
) -> AsyncIterator[Client]:
    """Start the server; its user answers all questions with "accept" or "decline".

    Raises:
        ServerFailedError: it does not start.
    """
    answer = {"action": user, "content": {}} if user == "accept" else {"action": user}
    try:
        connection = await StdioConnection.start(
            package.mock_command, package.environment(environment)
        )
        client = await Client(
            connection,
            answers={"elicitation/create": lambda _: answer},
            timeout_seconds=_CALL_SECONDS,
        ).__aenter__()
    except (RpcError, ConnectionLostError, NoAnswerError, OSError) as error:
        raise ServerFailedError(f"the server does not start: {shorten(str(error))}") from None
    try:
        yield client
    finally:
        await client.__aexit__()
