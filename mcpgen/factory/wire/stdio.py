"""Connections over stdio: a child process, one message per line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from mcpgen.factory.wire.connection import (
    Connection,
    ConnectionLostError,
    Pending,
    UnreachableError,
    encode,
)
from mcpgen.factory.wire.frames import MAX_FRAME_BYTES, Recording
from mcpgen.factory.wire.targets import Target

_EXIT_SECONDS = 3.0
_WRITE_SECONDS = 10.0
_POLL_SECONDS = 0.02
_STDERR_KEPT = 8000


class StdioConnection(Connection):
    """A server in a child process. Every line of its stdout is a frame."""

    transport: ClassVar[str] = "stdio"

    def __init__(
        self, process: asyncio.subprocess.Process, recording: Recording, revision: str
    ) -> None:
        super().__init__(recording, revision)
        self.process = process
        self._stderr = b""
        self._reading = [
            asyncio.create_task(self._read_stdout()),
            asyncio.create_task(self._read_stderr()),
        ]

    @classmethod
    async def open(cls, target: Target, recording: Recording, revision: str) -> StdioConnection:
        """Start the server.

        Raises:
            UnreachableError: the command cannot be run.
        """
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *target.command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=target.environ(),
                limit=MAX_FRAME_BYTES,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise UnreachableError(f"cannot run `{target}`: {error}") from None
        return cls(process, recording, revision)

    @property
    def stderr(self) -> str:
        """The end of the server's standard error so far."""
        return self._stderr.decode(errors="replace")

    async def start(self, message: Any, headers: Mapping[str, str] | None = None) -> Pending:  # noqa: ARG002  (stdio has no headers)
        """Write one line and return the pending response."""
        if self.lost or self.process.stdin is None:
            raise ConnectionLostError(self.lost)
        raw = encode(message)
        pending = self.make_pending(message, raw)
        await self.write(raw + b"\n")
        return pending

    async def write(self, data: bytes) -> None:
        """Write bytes that need not be whole lines; nothing is recorded.

        Raises:
            ConnectionLostError: the server has exited, or reads nothing.
        """
        if self.lost or self.process.stdin is None:
            raise ConnectionLostError(self.lost)
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                self.process.stdin.write(data)
                await self.process.stdin.drain()
        except (ConnectionError, TimeoutError) as error:
            self.lose(f"the server does not read its standard input ({type(error).__name__})")
            raise ConnectionLostError(self.lost) from None

    async def end_input(self, timeout_seconds: float) -> int | None:
        """Close the server's standard input; return its exit code, None if it does not exit."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        return await self.wait_for_exit(timeout_seconds)

    async def wait_for_exit(self, timeout_seconds: float) -> int | None:
        """Wait until the server has exited; return its exit code, None if it still runs.

        `Process.wait` would also wait for its children, which hold the pipes open.
        """
        for _ in range(round(timeout_seconds / _POLL_SECONDS)):
            if self.process.returncode is not None:
                break
            await asyncio.sleep(_POLL_SECONDS)
        return self.process.returncode

    async def close(self) -> None:
        """Close the input, wait for the exit, and kill the process group after a time limit."""
        await self.stop_answers()
        if await self.end_input(_EXIT_SECONDS) is None:
            await self._kill()
        # A grandchild may hold the pipes open after the server has exited.
        await asyncio.wait(self._reading, timeout=_EXIT_SECONDS)
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)
        self.lose("the connection is closed")

    async def _kill(self) -> None:
        """End the server and the processes that it started."""
        if sys.platform == "win32":
            self.process.kill()
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            if await self.end_input(_EXIT_SECONDS) is not None:
                return

    async def _read_stdout(self) -> None:
        if self.process.stdout is None:
            return
        while True:
            try:
                line = await self.process.stdout.readline()
            except ValueError:
                self.lose(f"the server wrote a line longer than {MAX_FRAME_BYTES} bytes")
                return
            if not line:
                break
            self.receive(line.removesuffix(b"\n").removesuffix(b"\r"))
        self.lose("the server closed its standard output")

    async def _read_stderr(self) -> None:
        if self.process.stderr is None:
            return
        while chunk := await self.process.stderr.read(65536):
            self._stderr = (self._stderr + chunk)[-_STDERR_KEPT:]
