"""Serving over stdio: one loop without threads, so that a process starts within milliseconds."""

import json
import os
import select
import sys
import time

from tests.validate.servers.core import (
    PARSE_ERROR,
    Ask,
    EndOfInputError,
    RpcError,
    Session,
    is_request,
    key_of,
)


class Task:
    """A generator of the server that waits for a time or for an answer of the client."""

    def __init__(self, loop, steps, request_key=None):
        self.loop, self.steps, self.request_key = loop, steps, request_key
        self.due = 0.0

    def cancel(self):
        """Send nothing more."""
        self.due = None
        self.loop.tasks.discard(self)
        self.steps.close()

    def resume(self, value=None, error=None):
        """Continue until the next wait."""
        self.due = None
        while True:
            try:
                step = self.steps.throw(error) if error is not None else self.steps.send(value)
            except (StopIteration, EndOfInputError):
                self.loop.finish(self)
                return
            value = error = None
            if isinstance(step, (int, float)):
                self.due = time.monotonic() + step
                return
            self.loop.write(step)
            if isinstance(step, Ask):
                self.loop.session.waiting[key_of(step["id"])] = self.resume
                return


class StdioLoop:
    """The loop of one process, which is one connection."""

    def __init__(self, server):
        self.server = server
        self.session = Session()
        self.tasks = set()

    def run(self):
        """Serve until standard input ends."""
        rest = b""
        while True:
            due = [task.due for task in self.tasks if task.due is not None]
            wait = max(0.0, min(due) - time.monotonic()) if due else None
            readable, _, _ = select.select([0], [], [], wait)
            if readable:
                chunk = os.read(0, 65536)
                if not chunk:
                    break
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        self.receive(line)
            for task in tuple(self.tasks):
                if task.due is not None and task.due <= time.monotonic():
                    task.resume()
        for task in tuple(self.tasks):
            task.resume(error=EndOfInputError())

    def receive(self, line):
        """Handle one line of standard input."""
        try:
            message = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            self.write(self.server.make_error(None, RpcError(PARSE_ERROR, "not JSON in UTF-8")))
            return
        key = key_of(message["id"]) if is_request(message) else None
        task = Task(self, self.server.receive(message, self.session), key)
        self.tasks.add(task)
        if key is not None:
            self.session.running[key] = task
        task.resume()

    def finish(self, task):
        """Forget a task that has ended."""
        self.tasks.discard(task)
        if self.session.running.get(task.request_key) is task:
            del self.session.running[task.request_key]

    def write(self, message):
        """Write a message as one line."""
        write_all(self.server.encode(message) + b"\n")


def write_all(raw):
    """Write bytes to standard output; end the process if the client has closed it."""
    view = memoryview(raw)
    try:
        while view:
            view = view[os.write(1, view) :]
    except BrokenPipeError:
        sys.exit(0)
