"""Cancellations of requests that do not run, have ended, or are running."""

from __future__ import annotations

from typing import Any, Final

from mcpgen.factory.robustness.experiments.frames import make_harmless
from mcpgen.factory.robustness.experiments.kinds import (
    Experiment,
    SkippedError,
    require_tools,
)
from mcpgen.factory.robustness.subject import Subject, Variant
from mcpgen.jsonschema.types import JsonObject

_METHOD: Final = "notifications/cancelled"
_IDS: Final[tuple[Any, ...]] = (
    999_999, "mcpgen-nobody", -1, 1.5, None, True, [], {}, 10**300, "x" * 5000, "__proto__",
)  # fmt: skip
_REPETITIONS: Final = 5


def _cancel(**params: Any) -> JsonObject:
    return {"jsonrpc": "2.0", "method": _METHOD, "params": params}


async def _cancel_unknown(_subject: Subject) -> list[Variant]:
    messages = [(f"requestId = {ascii(it)[:40]}", _cancel(requestId=it)) for it in _IDS]
    messages += [
        ("no requestId", _cancel()),
        ("no params", {"jsonrpc": "2.0", "method": _METHOD}),
        ("params as a list", {"jsonrpc": "2.0", "method": _METHOD, "params": [1]}),
        ("a reason that is no text", _cancel(requestId="mcpgen-nobody", reason={"a": 1})),
        ("a long reason", _cancel(requestId="mcpgen-nobody", reason="x" * 50_000)),
    ]
    return [Variant(f"cancelled: {name}", message) for name, message in messages]


async def _cancel_ended(subject: Subject) -> None:
    request = await make_harmless(subject)
    await subject.exchange(Variant("a request", request, must_answer=True))
    for _ in range(_REPETITIONS):
        await subject.exchange(Variant("a cancellation again", _cancel(requestId=request["id"])))


async def _cancel_running(subject: Subject) -> None:
    if not subject.is_stdio and subject.probe.is_modern:
        raise SkippedError("over HTTP, closing the connection cancels a request of this revision")
    tools = require_tools(subject)
    session = await subject.get_session()
    for tool in tools[: subject.intensity.cases]:
        params = {"name": tool.name, "arguments": tool.arguments}
        subject.spend(100)
        pending = await session.start("tools/call", params)
        message = _cancel(requestId=pending.request.body["id"], reason="mcpgen")
        await subject.exchange(Variant(f"a cancellation of `{tool.name}`", message))
        pending.abandon()


EXPERIMENTS: Final = (
    Experiment(
        id="cancel-unknown",
        title="cancellations of unknown requests, and malformed ones",
        why="a cancellation often arrives after the response: it must be ignored",
        help="ignore cancellations whose request is not running",
        variants=_cancel_unknown,
    ),
    Experiment(
        id="cancel-ended",
        title="repeated cancellations of a request that was answered",
        why="clients cancel whatever they gave up waiting for",
        help="ignore cancellations whose request is not running",
        act=_cancel_ended,
    ),
    Experiment(
        id="cancel-running",
        title="cancellations of calls directly after their start",
        why="the call may not have begun yet, or be in the middle of its clean-up",
        help="treat a cancelled call like any other that ends, and send nothing for it",
        act=_cancel_running,
    ),
)
