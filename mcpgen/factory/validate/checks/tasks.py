"""Checks of the experimental tasks of 2025-11-25."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcpgen.factory.validate.arguments import NoArgumentsError, make_arguments
from mcpgen.factory.validate.checks.calls import CALL_SECONDS
from mcpgen.factory.validate.checks.exchange import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    describe_reply,
)
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    cannot_decide,
    fail,
    leave_untested,
    skip,
    succeed,
)
from mcpgen.factory.wire.session import META_PREFIX, Reply
from mcpgen.jsonschema.types import JsonObject

_CALLS: Final = "tasks.requests.tools.call"
_TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
_TASK: Final[JsonObject] = {"ttl": 60_000}
_NO_TASK: Final = "mcpgen-no-such-task"
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})\Z")
_POLLS: Final = 40
_POLL_SECONDS: Final = 0.25
_UNTESTED: Final = "no read-only tool supports tasks"
_UNFINISHED: Final = "no task came to its end"


@dataclass(slots=True)
class TaskRun:
    """A task from its creation on; `states` are those of `tasks/get`, in order."""

    created: Reply
    states: list[Reply] = field(default_factory=list)
    payload: Reply | None = None

    @property
    def task(self) -> JsonObject:
        """The task as it was created."""
        task = (self.created.result or {}).get("task")
        return task if isinstance(task, dict) else {}

    @property
    def task_id(self) -> str:
        """The id; "" if it has none."""
        return str(self.task.get("taskId", ""))


def _support(tool: JsonObject) -> str:
    execution = tool.get("execution")
    found = execution.get("taskSupport") if isinstance(execution, dict) else None
    return found if isinstance(found, str) else "forbidden"


def _choose_tool(probe: Probe, *supports: str) -> tuple[JsonObject, JsonObject] | None:
    """Return a read-only tool with this task support, and arguments for it."""
    for tool in probe.tools:
        if _support(tool) in supports and probe.may_call(tool):
            try:
                return tool, make_arguments(tool)
            except NoArgumentsError:
                continue
    return None


async def _run_task(probe: Probe) -> TaskRun | None:
    chosen = _choose_tool(probe, "optional", "required")
    if chosen is None:
        return None
    tool, arguments = chosen
    params = {"name": tool["name"], "arguments": arguments, "task": _TASK}
    run = TaskRun(await probe.request("tools/call", params, timeout_seconds=CALL_SECONDS))
    if not run.task_id:
        return run
    for _ in range(_POLLS):
        state = await probe.request("tasks/get", {"taskId": run.task_id})
        run.states.append(state)
        if (state.result or {}).get("status") in {*_TERMINAL, "input_required"}:
            break
        await asyncio.sleep(_POLL_SECONDS)
    if run.states and (run.states[-1].result or {}).get("status") in _TERMINAL:
        run.payload = await probe.request("tasks/result", {"taskId": run.task_id})
    return run


async def check_ignored(probe: Probe) -> Outcome:
    """A server without tasks ignores `task` and runs the tool."""
    if probe.declares(_CALLS):
        return skip("the server declares tasks")
    chosen = _choose_tool(probe, "forbidden", "optional")
    if chosen is None:
        return leave_untested("no read-only tool can be called") if probe.tools else skip("no tool")
    tool, arguments = chosen
    plain = {"name": tool["name"], "arguments": arguments}
    first = await probe.request("tools/call", plain, timeout_seconds=CALL_SECONDS)
    second = await probe.request(
        "tools/call", {**plain, "task": _TASK}, timeout_seconds=CALL_SECONDS
    )
    if first.result is None:
        return cannot_decide(f"`{tool['name']}` cannot be called", first.frames)
    if second.result is None or "task" in second.result:
        return fail(
            f"`{tool['name']}` with `task` was answered with {describe_reply(second)},"
            " expected an ordinary result",
            second.frames,
        )
    return succeed()


async def check_created(probe: Probe) -> Outcome:
    """An accepted task is returned at once, with an id, as working."""
    run = await probe.once(_run_task)
    if run is None:
        return leave_untested(_UNTESTED)
    if not isinstance(run.task.get("taskId"), str) or not run.task_id:
        return fail("a call with `task` returned no task with an id", run.created.frames)
    if run.task.get("status") != "working":
        return fail(
            f"a task begins with the status {run.task.get('status')!r}, expected 'working'",
            run.created.frames,
        )
    return succeed()


async def check_times(probe: Probe) -> Outcome:
    """Tasks have ISO 8601 times and their actual `ttl`."""
    run = await probe.once(_run_task)
    if run is None or not run.task_id:
        return leave_untested(_UNTESTED)
    for task, reply in [(run.task, run.created), *((it.result or {}, it) for it in run.states)]:
        for name in ("createdAt", "lastUpdatedAt"):
            if not _TIME.match(str(task.get(name))):
                return fail(f"`{name}` of a task is not an ISO 8601 time", reply.frames)
        if "ttl" not in task:
            return fail("a task has no `ttl`", reply.frames)
    return succeed()


async def check_states(probe: Probe) -> Outcome:
    """A task keeps its id and does not leave a final status."""
    run = await probe.once(_run_task)
    if run is None or not run.states:
        return leave_untested(_UNTESTED)
    for state in run.states:
        if state.result is None:
            return fail(f"`tasks/get` was answered with {describe_reply(state)}", state.frames)
        if state.result.get("taskId") != run.task_id:
            return fail("`tasks/get` returned another task", state.frames)
    last = (run.states[-1].result or {}).get("status")
    if last not in _TERMINAL:
        return cannot_decide(f"the task was still {last!r} at the end", run.states[-1].frames)
    again = await probe.request("tasks/get", {"taskId": run.task_id})
    if (again.result or {}).get("status") != last:
        return fail(f"a task left the final status {last!r}", again.frames)
    return succeed()


async def check_result(probe: Probe) -> Outcome:
    """`tasks/result` returns the result of the tool, with the id of the task."""
    run = await probe.once(_run_task)
    if run is None or run.payload is None:
        return leave_untested(_UNFINISHED if run else _UNTESTED)
    if run.payload.response is None:
        return fail("`tasks/result` of a finished task was not answered", run.payload.frames)
    result = run.payload.result
    if result is None:
        return cannot_decide("`tasks/result` returned an error", run.payload.frames)
    if "content" not in result:
        return fail("`tasks/result` did not return the result of the tool", run.payload.frames)
    meta = result.get("_meta")
    related: Any = meta.get(f"{META_PREFIX}related-task") if isinstance(meta, dict) else None
    if not isinstance(related, dict) or related.get("taskId") != run.task_id:
        return fail(
            f"the result of a task has no `{META_PREFIX}related-task` in `_meta`",
            run.payload.frames,
        )
    return succeed()


async def check_list(probe: Probe) -> Outcome:
    """`tasks/list` contains what `tasks/get` returns."""
    run = await probe.once(_run_task)
    if run is None or not run.states or run.states[-1].result is None:
        return leave_untested(_UNTESTED)
    tasks, replies = await (await probe.get_session()).list_all("tasks/list", "tasks")
    if run.task_id not in {it.get("taskId") for it in tasks if isinstance(it, dict)}:
        return fail(
            "`tasks/list` does not contain a task that `tasks/get` returns", replies[0].frames
        )
    return succeed()


async def check_cancel(probe: Probe) -> Outcome:
    """A task that has ended cannot be cancelled."""
    run = await probe.once(_run_task)
    if run is None or run.payload is None:
        return leave_untested(_UNFINISHED if run else _UNTESTED)
    reply = await probe.request("tasks/cancel", {"taskId": run.task_id})
    if reply.code != INVALID_PARAMS:
        return fail(
            f"cancelling a task that has ended was answered with {describe_reply(reply)},"
            " expected the error -32602",
            reply.frames,
        )
    return succeed()


async def check_unknown(probe: Probe) -> Outcome:
    """A task that does not exist gets the error -32602."""
    for method in ("tasks/get", "tasks/result"):
        reply = await probe.request(method, {"taskId": _NO_TASK})
        if reply.code != INVALID_PARAMS:
            return fail(
                f"`{method}` of an unknown task was answered with {describe_reply(reply)},"
                " expected the error -32602",
                reply.frames,
            )
    return succeed()


async def check_forbidden(probe: Probe) -> Outcome:
    """A tool that does not support tasks refuses them with the error -32601."""
    chosen = _choose_tool(probe, "forbidden")
    if chosen is None:
        return leave_untested("every read-only tool supports tasks")
    return await _expect_not_found(probe, chosen, {"task": _TASK}, "with `task`")


async def check_required(probe: Probe) -> Outcome:
    """A tool that requires a task refuses other calls with the error -32601."""
    chosen = _choose_tool(probe, "required")
    if chosen is None and any(_support(tool) == "required" for tool in probe.tools):
        return leave_untested("no read-only tool requires a task")
    if chosen is None:
        return skip("no tool requires a task")
    return await _expect_not_found(probe, chosen, {}, "without `task`")


async def _expect_not_found(
    probe: Probe, chosen: tuple[JsonObject, JsonObject], extra: JsonObject, how: str
) -> Outcome:
    tool, arguments = chosen
    params = {"name": tool["name"], "arguments": arguments, **extra}
    reply = await probe.request("tools/call", params, timeout_seconds=CALL_SECONDS)
    if reply.code != METHOD_NOT_FOUND:
        return fail(
            f"`{tool['name']}` {how} was answered with {describe_reply(reply)},"
            " expected the error -32601",
            reply.frames,
        )
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "task-ignored": check_ignored,
    "task-created": check_created,
    "task-times": check_times,
    "task-states": check_states,
    "task-result": check_result,
    "task-list": check_list,
    "task-cancel-ended": check_cancel,
    "task-unknown-code": check_unknown,
    "task-forbidden": check_forbidden,
    "task-required": check_required,
}
PASSIVE: Mapping[str, PassiveCheck] = {}
