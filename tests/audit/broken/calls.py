"""Faults in handling requests: cancellations, ids, leaks, internal errors, memory."""

import os
import time
import traceback

from tests.validate.servers.core import RpcError
from tests.validate.servers.features import TOOLS, Server, make_text


class HangsOnCancellation(Server):
    """Waits for ever for a request that does not run to end."""

    def receive_notification(self, message, session):
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            while params.get("requestId") == "mcpgen-nobody":
                time.sleep(1)
        yield from super().receive_notification(message, session)


class DiesOfRepeatedCancellation(Server):
    """Exits when a cancellation names a request that has ended."""

    seen = ()

    def receive_notification(self, message, session):
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            cancelled = str(params.get("requestId"))
            if cancelled in self.seen:
                os._exit(3)
            self.seen = (*self.seen, cancelled)
        yield from super().receive_notification(message, session)


class DiesOfOddIds(Server):
    """Uses an id as a key without checking it."""

    def receive(self, message, session):
        if isinstance(message, dict) and isinstance(message.get("id"), (list, dict)):
            os._exit(1)
        yield from super().receive(message, session)


class TracebackInResult(Server):
    """Returns the stack trace of a failed call."""

    def refuse_arguments(self, call, violation):
        try:
            int(violation)
        except ValueError:
            return {"content": [make_text(traceback.format_exc())], "isError": True}


class TracebackInError(Server):
    """Puts a stack trace into the data of an error response."""

    def refuse_resource(self, call, uri):
        trace = "Error\n    at readResource (/srv/app/dist/server.js:12:34)\n    at main (native)"
        raise RpcError(-32602, "resource not found", {"stack": trace})

    def resources_read(self, call):
        if not isinstance(call.params.get("uri"), str):
            return self.refuse_resource(call, "")
        return super().resources_read(call)


class PathInError(Server):
    """Names a file of its code in an error."""

    def refuse_arguments(self, call, violation):
        text = f"{violation} (/srv/ada/server/venv/lib/python3.11/site-packages/tool.py)"
        return {"content": [make_text(text)], "isError": True}


class InternalErrorForArguments(Server):
    """Answers invalid arguments with an internal error."""

    def refuse_arguments(self, call, violation):
        raise RpcError(-32603, "internal error")


class LeaksMemory(Server):
    """Keeps a megabyte for each call."""

    def __init__(self):
        self.kept = []

    def check_arguments(self, tool, arguments):
        self.kept.append(bytearray(os.urandom(1)) * (2 * 1024 * 1024))
        return super().check_arguments(tool, arguments)


class SlowPattern(Server):
    """Needs a time that grows with the square of the length of a text, and more."""

    def check_arguments(self, tool, arguments):
        values = arguments.values() if isinstance(arguments, dict) else ()
        while any(isinstance(value, str) and len(value) > 50_000 for value in values):
            time.sleep(1)
        return super().check_arguments(tool, arguments)


class TrustsPrototypeKeys(Server):
    """Exits at a property that every object has in some languages."""

    def check_arguments(self, tool, arguments):
        if isinstance(arguments, dict) and "__proto__" in arguments:
            os._exit(1)
        return super().check_arguments(tool, arguments)


class LosesUnknownMethods(Server):
    """Looks methods up where every object has some members."""

    def receive_request(self, message, session):
        if hasattr(message, message["method"]) or message["method"].startswith("__"):
            return
        yield from super().receive_request(message, session)


class WithoutReadOnlyTools(Server):
    """The correct server whose tools are not marked as read-only."""

    def get_tools(self, call):
        return [{**tool, "annotations": {}} for tool in TOOLS]
