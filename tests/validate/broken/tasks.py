"""Faults of the experimental tasks of 2025-11-25."""

import time

from tests.validate.servers.core import RpcError
from tests.validate.servers.features import Server
from tests.validate.servers.tasks import TaskServer


class BeginsCompleted(TaskServer):
    """A new task has ended already."""

    work_seconds = 0.0


class NoTaskId(TaskServer):
    """A new task has no id."""

    def create_task(self, call):
        result = super().create_task(call)
        del result["task"]["taskId"]
        return result


class TimesAsNumbers(TaskServer):
    """The times of tasks are numbers."""

    def describe_task(self, task_id):
        times = {"createdAt": 1764072000, "lastUpdatedAt": 1764072000}
        return {**super().describe_task(task_id), **times}


class WorksAgain(TaskServer):
    """A task that has ended is working again a moment later."""

    def get_status(self, task_id):
        ends = self.tasks[task_id][0]
        if ends <= time.monotonic():
            self.asked = getattr(self, "asked", 0) + 1
            return "completed" if self.asked % 2 else "working"
        return super().get_status(task_id)


class NoRelatedTask(TaskServer):
    """The result of a task does not name it."""

    def get_task_result(self, call):
        result = yield from super().get_task_result(call)
        del result["_meta"]
        return result


class EmptyTaskList(TaskServer):
    """The list of tasks is empty while there are some."""

    def list_tasks(self, call):
        return {"tasks": []}


class CancelsEndedTasks(TaskServer):
    """Cancels tasks that have ended."""

    def refuse_cancel(self, task_id):
        self.tasks[task_id][2] = "cancelled"
        return self.describe_task(task_id)


class UnknownTaskCode(TaskServer):
    """A task that does not exist is an internal error."""

    def refuse_unknown_task(self):
        return RpcError(-32603, "unknown task")


class ForbiddenTaskAccepted(TaskServer):
    """Runs tools as tasks that do not support it."""

    def refuse_task(self, call):
        return self.create_task(call)


class TaskNotRequired(TaskServer):
    """Runs a tool without the task that it requires."""

    def refuse_call(self, call):
        return Server.tools_call(self, call)
