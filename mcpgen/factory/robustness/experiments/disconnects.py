"""The end of standard input at awkward moments, and the processes that the server leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mcpgen.factory.robustness.experiments.frames import make_harmless
from mcpgen.factory.robustness.experiments.kinds import (
    STDIO,
    Experiment,
    SkippedError,
    UntestedError,
    require_tools,
)
from mcpgen.factory.robustness.processes import (
    CAN_MEASURE,
    describe_process,
    kill_all,
    list_processes,
    wait_for_end,
)
from mcpgen.factory.robustness.subject import Subject
from mcpgen.factory.validate.probe import START_SECONDS
from mcpgen.factory.wire.connection import ConnectionLostError, encode
from mcpgen.factory.wire.session import Session
from mcpgen.factory.wire.stdio import StdioConnection

_EXIT_SECONDS: Final = 10.0
_CHILD_SECONDS: Final = 5.0
_QUICK_SECONDS: Final = 1.0
_BURST: Final = 5


@asynccontextmanager
async def _start(subject: Subject) -> AsyncIterator[tuple[Session, StdioConnection]]:
    """Yield a session with a process of its own; kill its remaining processes at the exit."""
    if not subject.exits_at_end:
        raise UntestedError("the server does not exit at the end of its standard input")
    subject.spend(0)
    async with subject.probe.fresh() as session:
        connection = session.connection
        if not isinstance(connection, StdioConnection):
            raise SkippedError("the server is no child process")
        try:
            yield session, connection
        finally:
            kill_all(list_processes(connection.process.pid))


async def _end_input(
    subject: Subject,
    connection: StdioConnection,
    when: str,
    timeout_seconds: float = _EXIT_SECONDS,
) -> None:
    """Close standard input and check that the process and its children end."""
    sent = [it for it in subject.probe.frames if not it.is_received][-1:]
    code = await connection.end_input(timeout_seconds)
    if code is None:
        subject.exits_at_end = False
        limit = f"{timeout_seconds:g} seconds after standard input was closed"
        subject.add_finding("left-running", f"{when}: the process still runs {limit}", sent)
        return
    if CAN_MEASURE and (left := await wait_for_end(connection.process.pid, _CHILD_SECONDS)):
        names = ", ".join(f"`{describe_process(it)}`" for it in left[:3])
        limit = f"{_CHILD_SECONDS:g} seconds after the server"
        message = f"{when}: {len(left)} child process(es) still run {limit}: {names}"
        subject.add_finding("child-left-running", message, sent)


async def _end_at_once(subject: Subject) -> None:
    async with _start(subject) as (_, connection):
        await _end_input(subject, connection, "after the handshake")


async def _end_in_call(subject: Subject) -> None:
    tools = [it for it in require_tools(subject) if it.seconds < _QUICK_SECONDS]
    if not tools:
        raise UntestedError("no tool answers fast enough: a server may finish calls that run")
    async with _start(subject) as (session, connection):
        params = {"name": tools[0].name, "arguments": tools[0].arguments}
        await session.start("tools/call", params)
        await _end_input(subject, connection, f"in a call of `{tools[0].name}`")


async def _end_in_frame(subject: Subject) -> None:
    raw = encode(await make_harmless(subject))
    async with _start(subject) as (_, connection):
        await connection.write(raw[: len(raw) // 2])
        await _end_input(subject, connection, "in the middle of a line")


async def _end_after_burst(subject: Subject) -> None:
    lines = [encode(await make_harmless(subject)) + b"\n" for _ in range(_BURST)]
    async with _start(subject) as (_, connection):
        await connection.write(b"".join(lines))
        await _end_input(subject, connection, f"after {_BURST} requests at once")


async def _end_before_handshake(subject: Subject) -> None:
    if not subject.exits_at_end:
        raise UntestedError("the server does not exit at the end of its standard input")
    subject.spend(0)
    async with subject.probe.fresh(opens=False) as session:
        connection = session.connection
        if isinstance(connection, StdioConnection):
            try:
                await _end_input(subject, connection, "before the first message", START_SECONDS)
            except ConnectionLostError:
                return
            finally:
                kill_all(list_processes(connection.process.pid))


_END: Final = "end when reading standard input returns nothing; cancel or finish running calls"

EXPERIMENTS: Final = (
    Experiment(
        id="end-idle",
        title="the end of standard input between messages",
        why="it is how a client says that it has gone",
        help=_END,
        transports=STDIO,
        act=_end_at_once,
    ),
    Experiment(
        id="end-before-handshake",
        title="the end of standard input before the first message",
        why="a client may be stopped while the server starts",
        help=_END,
        transports=STDIO,
        act=_end_before_handshake,
    ),
    Experiment(
        id="end-in-call",
        title="the end of standard input while a tool runs",
        why="the client may be killed at any time",
        help=_END,
        transports=STDIO,
        act=_end_in_call,
    ),
    Experiment(
        id="end-in-frame",
        title="the end of standard input within a line",
        why="a client that is killed leaves half a message",
        help=_END,
        transports=STDIO,
        act=_end_in_frame,
    ),
    Experiment(
        id="end-after-burst",
        title="the end of standard input directly after several requests",
        why="scripts write all requests and close the pipe",
        help=_END,
        transports=STDIO,
        act=_end_after_burst,
    ),
)
