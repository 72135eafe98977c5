"""The record of a task, as the store has it, and its shape on the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from mcpgen.runtime.content import JsonObject

WORKING: Final = "working"
INPUT_REQUIRED: Final = "input_required"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
_ACTIVE: Final = frozenset({WORKING, INPUT_REQUIRED})


class Job(Struct, frozen=True):
    """A call that another process continues if this one ends: its tool, and how far it came."""

    tool: str
    arguments: JsonObject
    state: JsonObject
    has_own_credentials: bool  # of the caller, which are not stored


class TaskRecord(Struct, frozen=True, omit_defaults=True):
    """One task. Times are seconds since the epoch.

    A process that runs the task is its `owner`. `requests` wait for the client's answer, and
    `answers` for the handler.
    """

    id: str
    caller: str  # hash of the principal
    owner: str
    created_at: float
    updated_at: float
    ttl_seconds: float
    poll_seconds: float
    status: str = WORKING
    message: str = ""
    is_cancel_requested: bool = False
    requests: dict[str, JsonObject] = {}
    answers: dict[str, JsonObject] = {}
    job: Job | None = None
    result: JsonObject | UnsetType = UNSET
    error: JsonObject | UnsetType = UNSET

    @property
    def is_active(self) -> bool:
        """Whether the task has no final status yet."""
        return self.status in _ACTIVE

    @property
    def ends_at(self) -> float:
        """Time after which the task may be deleted."""
        return self.created_at + self.ttl_seconds


def shape_task(record: TaskRecord) -> JsonObject:
    """Return the members of `Task`: what `CreateTaskResult` has besides its envelope."""
    task: JsonObject = {
        "taskId": record.id,
        "status": record.status,
        "createdAt": _format_time(record.created_at),
        "lastUpdatedAt": _format_time(record.updated_at),
        "ttlMs": ceil(record.ttl_seconds * 1000),
        "pollIntervalMs": ceil(record.poll_seconds * 1000),
    }
    if record.message:
        task["statusMessage"] = record.message
    return task


def shape_detailed_task(record: TaskRecord) -> JsonObject:
    """Return the members of `DetailedTask`, of `tasks/get` and `notifications/tasks`."""
    task = shape_task(record)
    if record.status == INPUT_REQUIRED:
        task["inputRequests"] = record.requests
    if record.result is not UNSET:
        task["result"] = record.result
    if record.error is not UNSET:
        task["error"] = record.error
    return task


def _format_time(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
