"""An agent in a process of its own, which speaks JSON Lines over stdio.

The process gets one line with the task and the tools. It writes lines with calls, gets a line with
the result of each, and ends with a line that has its answer (docs/how-to/eval.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from collections.abc import Sequence
from typing import Final

from mcpgen.factory.eval.agents import AgentError, Assignment, CallTool
from mcpgen.factory.eval.calls import shorten
from mcpgen.factory.process_groups import OWN_GROUP, end_group
from mcpgen.jsonschema.types import JsonObject

PROTOCOL_VERSION: Final = 1
MAX_LINE_BYTES: Final = 1024 * 1024
_EXIT_SECONDS: Final = 2.0
_STDERR_BYTES: Final = 4000


class CommandAgent:
    """The agent of `--agent COMMAND`; a new process is started for each task."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    @property
    def name(self) -> str:
        """The command."""
        return shlex.join(self._command)

    async def solve(self, assignment: Assignment, call_tool: CallTool) -> str:
        """Run the agent until its answer, and end its processes.

        Raises:
            AgentError: it exited without an answer, or wrote something that is no valid line.
        """
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                limit=MAX_LINE_BYTES,
                process_group=OWN_GROUP,
            )
        except OSError as error:
            raise AgentError(f"the agent cannot be started: {error.strerror}") from None
        conversation = _Conversation(process)
        try:
            return await conversation.run(assignment, call_tool)
        finally:
            await conversation.end()


class _Conversation:
    """The exchange of lines with one process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._lines = 0
        self._has_answered = False
        self._stderr = b""
        self._listening = asyncio.create_task(self._collect_stderr())

    async def run(self, assignment: Assignment, call_tool: CallTool) -> str:
        task = assignment.task
        await self._send(
            {
                "type": "task",
                "version": PROTOCOL_VERSION,
                "id": task.id,
                "goal": task.goal,
                "instructions": assignment.instructions,
                "tools": list(assignment.tools),
                "max_calls": assignment.max_calls,
                "timeout_seconds": assignment.timeout_seconds,
            }
        )
        while True:
            message = await self._receive()
            if message.get("type") == "answer":
                text = self._read_text(message, "text")
                self._has_answered = True
                return text
            if message.get("type") != "call":
                raise self._reject('`type` is not "call" or "answer"')
            arguments = message.get("arguments", {})
            if not isinstance(arguments, dict):
                raise self._reject("`arguments` is not an object")
            result = await call_tool(self._read_text(message, "tool"), arguments)
            await self._send({"type": "result", "id": message.get("id"), **result})

    async def end(self) -> None:
        """End the agent and its child processes; after an answer, first give it time to exit."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._has_answered:
            await self._wait_for_exit()
        await end_group(self._process)
        await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _send(self, message: JsonObject) -> None:
        line = json.dumps(message).encode() + b"\n"
        if message["type"] == "result" and len(line) > MAX_LINE_BYTES:
            text = f"the result has {len(line):,} bytes, over the limit of {MAX_LINE_BYTES:,}"
            short = {"type": "result", "id": message["id"], "error": {"message": text}}
            line = json.dumps(short).encode() + b"\n"
        if self._process.stdin is None:
            raise AgentError("the agent has no input")
        # An agent that answered or exited without reading is judged by its output.
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(line)
            await self._process.stdin.drain()

    async def _receive(self) -> JsonObject:
        """Return the next line that is not empty, decoded."""
        if self._process.stdout is None:
            raise AgentError("the agent has no output")
        line = b"\n"
        while line and not line.strip():
            self._lines += 1
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                raise self._reject(f"it is longer than {MAX_LINE_BYTES:,} bytes") from None
        if not line:
            raise await self._make_exit_error()
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise self._reject("it is not JSON") from None
        if not isinstance(message, dict):
            raise self._reject("it is not a JSON object")
        return message

    def _read_text(self, message: JsonObject, name: str) -> str:
        text = message.get(name)
        if not isinstance(text, str):
            raise self._reject(f"`{name}` is not a string")
        return text

    def _reject(self, why: str) -> AgentError:
        return AgentError(f"the agent wrote an invalid line {self._lines}: {why}")

    async def _make_exit_error(self) -> AgentError:
        """Return an error with the exit code and the last line of the standard error."""
        await self._wait_for_exit()
        code = self._process.returncode
        if code is None:
            return AgentError("the agent closed its output without an answer")
        await asyncio.wait([self._listening], timeout=_EXIT_SECONDS)
        lines = self._stderr.decode(errors="replace").strip().splitlines()
        detail = f": {shorten(lines[-1])}" if lines else ""
        return AgentError(f"the agent exited with code {code} before its answer{detail}")

    async def _wait_for_exit(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_SECONDS):
                await self._process.wait()

    async def _collect_stderr(self) -> None:
        while self._process.stderr is not None:
            chunk = await self._process.stderr.read(65536)
            if not chunk:
                return
            self._stderr = (self._stderr + chunk)[-_STDERR_BYTES:]
