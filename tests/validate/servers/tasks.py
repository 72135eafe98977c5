"""The correct server with the experimental tasks of 2025-11-25."""

import time

from tests.validate.servers.core import INVALID_PARAMS, META, METHOD_NOT_FOUND, RpcError
from tests.validate.servers.features import Server, make_text

REVISION = "2025-11-25"
RELATED = META + "related-task"
TIME = "2025-11-25T12:00:00Z"
FINAL = ("completed", "failed", "cancelled")
SUPPORT = (("count", "optional"), ("find_city", "required"))


class TaskServer(Server):
    """Runs `count` as a task if the client wants it, and `find_city` as a task alone."""

    work_seconds = 0.3

    def __init__(self):
        super().__init__()
        self.tasks = {}  # by id: when it ends, its result, and its status if it was cancelled

    def get_capabilities(self, revision):
        found = super().get_capabilities(revision)
        if revision == REVISION:
            calls = {"tools": {"call": {}}}
            found["tasks"] = {"list": {}, "cancel": {}, "requests": calls}
        return found

    def get_tools(self, call):
        tools = super().get_tools(call)
        for tool in tools if call.revision == REVISION else ():
            if tool["name"] in dict(SUPPORT):
                tool["execution"] = {"taskSupport": dict(SUPPORT)[tool["name"]]}
        return tools

    def find_handler(self, call):
        handlers = {
            "tasks/get": self.get_task,
            "tasks/result": self.get_task_result,
            "tasks/list": self.list_tasks,
            "tasks/cancel": self.cancel_task,
        }
        if call.revision == REVISION and call.method in handlers:
            return handlers[call.method]
        return super().find_handler(call)

    def tools_call(self, call):
        support = dict(SUPPORT).get(call.params.get("name"), "forbidden")
        if call.revision != REVISION:
            return super().tools_call(call)
        if "task" in call.params:
            return self.refuse_task(call) if support == "forbidden" else self.create_task(call)
        return self.refuse_call(call) if support == "required" else super().tools_call(call)

    def refuse_task(self, call):
        """Refuse to run a tool as a task."""
        raise RpcError(METHOD_NOT_FOUND, "this tool does not support tasks")

    def refuse_call(self, call):
        """Refuse to run a tool without a task."""
        raise RpcError(METHOD_NOT_FOUND, "this tool requires a task")

    def create_task(self, call):
        """Create a task and return it."""
        task_id = f"task-{len(self.tasks) + 1}-5e0c41a9"
        result = {"content": [make_text("done")]}
        self.tasks[task_id] = [time.monotonic() + self.work_seconds, result, None]
        return {"task": self.describe_task(task_id)}

    def describe_task(self, task_id):
        """Return the state of a task."""
        status = self.get_status(task_id)
        times = {"createdAt": TIME, "lastUpdatedAt": TIME}
        return {"taskId": task_id, "status": status, **times, "ttl": 60000, "pollInterval": 100}

    def get_status(self, task_id):
        """Return the status of a task."""
        ends, _, changed = self.tasks[task_id]
        return changed or ("completed" if time.monotonic() >= ends else "working")

    def find_task(self, call):
        """Return the id of the task that a request names."""
        task_id = call.params.get("taskId")
        if task_id not in self.tasks:
            raise self.refuse_unknown_task()
        return task_id

    def refuse_unknown_task(self):
        """Return the error for a task that does not exist."""
        return RpcError(INVALID_PARAMS, "unknown task")

    def get_task(self, call):
        """Return the state of a task."""
        return self.describe_task(self.find_task(call))

    def get_task_result(self, call):
        """Wait for the end of a task and return the result of its tool."""
        task_id = self.find_task(call)
        while self.get_status(task_id) not in FINAL:
            yield 0.05
        return {**self.tasks[task_id][1], "_meta": {RELATED: {"taskId": task_id}}}

    def list_tasks(self, call):
        """List the tasks."""
        if "cursor" in call.params:
            raise RpcError(INVALID_PARAMS, "unknown cursor")
        return {"tasks": [self.describe_task(task_id) for task_id in self.tasks]}

    def cancel_task(self, call):
        """Cancel a task that has not ended."""
        task_id = self.find_task(call)
        if self.get_status(task_id) in FINAL:
            return self.refuse_cancel(task_id)
        self.tasks[task_id][2] = "cancelled"
        return self.describe_task(task_id)

    def refuse_cancel(self, task_id):
        """Refuse to cancel a task that has ended."""
        raise RpcError(INVALID_PARAMS, "the task has ended")
