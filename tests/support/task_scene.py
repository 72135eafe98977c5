"""Processes of one server with tasks and a shared store, and their clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from mcpgen.contract.limits import Limits
from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.protocol.jsonrpc import TASKS_EXTENSION
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.state.store import Store
from mcpgen.runtime.tasks.service import TaskService
from mcpgen.runtime.transports.memory import MemoryConnection
from tests.protocol.bookshelf import NoTools
from tests.support.mcp_schemas import check_frame
from tests.support.protocol_client import CAPABILITIES, MODERN, VERSION

BOUND_SECONDS = 30.0
SUPPORTS_TASKS: dict[str, Any] = {"extensions": {TASKS_EXTENSION: {}}}
ASKS: dict[str, Any] = {**SUPPORTS_TASKS, "elicitation": {"form": {}}}
FINAL = {"completed", "failed", "cancelled"}


class TaskProcess:
    """One server process, and the connection of one client to it."""

    def __init__(self, dispatcher: Dispatcher, definition: ServerDefinition) -> None:
        self.service = dispatcher.task_service
        self.connection = MemoryConnection(definition, dispatcher)
        self.notified: list[dict[str, Any]] = []
        self._last_id = 0

    @classmethod
    def of_features(
        cls, features: Features, store: Store, *, limits: dict[str, float] | None = None
    ) -> TaskProcess:
        """Return a process that serves handwritten tools."""
        bare = ServerDefinition({"name": "jobs", "version": "1"}, tools=PreparedList("tools", []))
        definition = features.extend(bare, []).replace(extensions={TASKS_EXTENSION: {}})
        dispatcher = Dispatcher(NoTools(), features, limits=Limits(limits))
        dispatcher.task_service = TaskService(
            dispatcher, definition, lambda: store, limits=dispatcher.limits
        )
        return cls(dispatcher, definition)

    async def request(
        self,
        method: str,
        *,
        capabilities: dict[str, Any] = SUPPORTS_TASKS,
        principal: str = "",
        **params: Any,
    ) -> dict[str, Any]:
        """Send a request and return the response; every frame is checked against its schema."""
        self._last_id += 1
        params["_meta"] = {VERSION: MODERN, CAPABILITIES: capabilities}
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.connection.access = Access(principal) if principal else None
        await self.connection.send(message)
        while True:
            frame = await self.receive()
            check_frame(MODERN, frame, method)
            if frame.get("id") == self._last_id or "acknowledged" in frame.get("method", ""):
                return frame
            self.notified.append(frame)

    async def receive(self) -> dict[str, Any]:
        """Wait for the next frame."""
        frame: dict[str, Any] = await asyncio.wait_for(self.connection.receive(), BOUND_SECONDS)
        return frame

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request that must succeed; return its result."""
        response = await self.request(method, **params)
        assert "result" in response, response
        return dict(response["result"])

    async def error(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request that must fail; return its error."""
        response = await self.request(method, **params)
        assert "error" in response, response
        return dict(response["error"])

    async def begin(self, tool: str, *, arguments: Any = None, **more: Any) -> str:
        """Call a tool that becomes a task; return the task's id."""
        result = await self.result("tools/call", name=tool, arguments=arguments or {}, **more)
        assert result["resultType"] == "task", result
        return str(result["taskId"])

    async def until(
        self, task_id: str, is_reached: Callable[[dict[str, Any]], bool], **more: Any
    ) -> dict[str, Any]:
        """Poll a task until it reaches a state; return the task."""
        async with asyncio.timeout(BOUND_SECONDS):
            while True:
                task = await self.result("tasks/get", taskId=task_id, **more)
                if is_reached(task):
                    return task
                await asyncio.sleep(0.005)

    async def until_final(self, task_id: str, **more: Any) -> dict[str, Any]:
        """Poll a task until it has ended; return the task."""
        return await self.until(task_id, lambda task: task["status"] in FINAL, **more)

    async def kill(self) -> None:
        """Cancel everything in this process at once, and store nothing any more."""
        service = self.service
        assert service is not None
        tasks = [it for it in asyncio.all_tasks() if it is not asyncio.current_task()]
        ours = [*service._background, *(it.work for it in service._running.values())]
        if service._table is not None:
            service._table._store = _NoStore()  # type: ignore[assignment]
        for task in tasks:
            if task in ours:
                task.cancel()
        await asyncio.gather(*ours, return_exceptions=True)

    async def close(self) -> None:
        """Shut down as a server does."""
        await self.connection.close()


class _NoStore:
    """The store of a killed process: every access is cancelled."""

    def __getattr__(self, name: str) -> Any:
        raise asyncio.CancelledError


def text_of(task: dict[str, Any]) -> str:
    """Return the text of the first content block in a task's result."""
    return str(task["result"]["content"][0]["text"])


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
