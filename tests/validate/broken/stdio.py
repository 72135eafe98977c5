"""Faults of stdio: what is on stdout, and what ends the process."""

import json
import os
import time

from tests.validate.servers.features import Server
from tests.validate.servers.stdio import StdioLoop, write_all


class BannerLoop(StdioLoop):
    """Writes a line before it serves."""

    def run(self):
        write_all(b"Reference server 1.0 is ready\n")
        super().run()


class Banner(Server):
    """Writes a banner to stdout."""

    loop_class = BannerLoop


class PrintsInCalls(Server):
    """Prints what a tool does to stdout."""

    def call_add(self, call, arguments):
        write_all(b"adding two numbers\n")
        return super().call_add(call, arguments)


class PrettyPrinted(Server):
    """Spreads the result of `prompts/get` over several lines."""

    def encode(self, message):
        if "messages" in (message.get("result") or {}):
            return json.dumps(message, indent=2).encode()
        return super().encode(message)


class TwoMessagesInOneLine(Server):
    """Writes each progress notification and a log message in one line."""

    def encode(self, message):
        raw = super().encode(message)
        if isinstance(message, dict) and message.get("method") == "notifications/progress":
            params = {"level": "info", "data": "progress"}
            return raw + super().encode(self.notify("notifications/message", params))
        return raw


class SurvivorLoop(StdioLoop):
    """Continues after the end of standard input."""

    def run(self):
        super().run()
        time.sleep(60)


class IgnoresEndOfInput(Server):
    """Still runs when its client has gone."""

    loop_class = SurvivorLoop


class DiesOfUnknownCancellation(Server):
    """Exits when a request is cancelled that is not running."""

    def receive_notification(self, message, session):
        if message["method"] == "notifications/cancelled" and not session.running:
            os._exit(1)
        yield from super().receive_notification(message, session)


class DiesOfUnknownMethod(Server):
    """Exits when a method is unknown."""

    def find_handler(self, call):
        if not hasattr(self, call.method.replace("/", "_").lower()):
            os._exit(1)
        return super().find_handler(call)
