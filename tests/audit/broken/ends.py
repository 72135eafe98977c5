"""Faults at the end of standard input."""

import os
import subprocess
import time

from tests.validate.servers.features import Server
from tests.validate.servers.stdio import StdioLoop


class SurvivorLoop(StdioLoop):
    """Continues after the end of standard input."""

    def run(self):
        super().run()
        time.sleep(60)


class IgnoresEndOfInput(Server):
    """Still runs when its client has gone."""

    loop_class = SurvivorLoop


class HalfLineLoop(StdioLoop):
    """Waits for the rest of a line at the end of standard input."""

    def run(self):
        rest = b""
        while True:
            chunk = os.read(0, 65536)
            if not chunk:
                while rest:
                    time.sleep(1)
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    self.receive(line)


class WaitsForHalfLines(Server):
    """Still runs when its client has gone in the middle of a line."""

    loop_class = HalfLineLoop

    def call_count(self, call, arguments):
        return {"content": []}


class ParentLoop(StdioLoop):
    """Starts a process and does not stop it."""

    def run(self):
        with subprocess.Popen(("sleep", "60"), stdin=subprocess.DEVNULL) as child:
            super().run()
            os._exit(0 if child.pid else 1)


class LeavesChild(Server):
    """Leaves a child process behind."""

    loop_class = ParentLoop
