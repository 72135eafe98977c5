"""Growth of memory under repeated requests."""

from __future__ import annotations

from typing import Final

from mcpgen.factory.robustness.experiments.kinds import STDIO, Experiment, UntestedError
from mcpgen.factory.robustness.processes import CAN_MEASURE, measure_memory
from mcpgen.factory.robustness.subject import Subject, Variant
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.jsonschema.types import JsonObject

_MIB: Final = 1024 * 1024
_PAYLOAD: Final = "x" * (64 * 1024)
# Caches and the heaps of garbage collectors grow to some size once. A leak grows every time.
_FIRST_BOUND: Final = 32 * _MIB
_LATER_BOUND: Final = 16 * _MIB
_ROUNDS: Final = 3


async def _measure_growth(subject: Subject) -> None:
    if not subject.intensity.memory_messages:
        raise UntestedError("not measured at this intensity")
    if not CAN_MEASURE:
        raise UntestedError("memory is measured on Linux only")
    before = await _measure(subject)
    await _repeat(subject)
    sizes = [before, await _measure(subject)]
    bound = _FIRST_BOUND
    while sizes[-1] - sizes[-2] > bound:
        if len(sizes) > _ROUNDS:
            shown = " → ".join(f"{size // _MIB}" for size in sizes)
            count = subject.intensity.memory_messages
            message = f"the process grew each time that {count} requests were sent: {shown} MiB"
            subject.add_finding("memory-growth", message)
            return
        bound = _LATER_BOUND
        await _repeat(subject)
        sizes.append(await _measure(subject))


async def _measure(subject: Subject) -> int:
    session = await subject.get_session()
    connection = session.connection
    size = (
        measure_memory(connection.process.pid) if isinstance(connection, StdioConnection) else None
    )
    if size is None:
        raise UntestedError("the memory of the process cannot be read")
    subject.memory.append(size)
    return size


async def _repeat(subject: Subject) -> None:
    session = await subject.get_session()
    tool = next(iter(subject.tools), None)
    for _ in range(subject.intensity.memory_messages):
        if tool is None:
            params: JsonObject = {"mcpgen": _PAYLOAD}
            message = session.message("mcpgen/unknown", params, session.next_id())
        else:
            arguments = {**tool.arguments, "mcpgen_unexpected": _PAYLOAD}
            params = {"name": tool.name, "arguments": arguments}
            message = session.message("tools/call", params, session.next_id())
        await subject.exchange(
            Variant("a request of 64 KiB", message, wait_seconds=2.0, is_client_fault=False)
        )


EXPERIMENTS: Final = (
    Experiment(
        id="memory-growth",
        title="the same request of 64 KiB again and again",
        why="what each request leaves behind adds up over days",
        help="release what belongs to a request when it is answered; bound caches",
        transports=STDIO,
        act=_measure_growth,
    ),
)
