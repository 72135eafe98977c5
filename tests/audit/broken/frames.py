"""Faults in reading frames over stdio."""

import json
import os
import sys
import time

from tests.validate.servers.features import Server
from tests.validate.servers.stdio import StdioLoop, write_all


def parse(line):
    """Return the value of a line, None if it is not JSON."""
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


class InvalidJsonLoop(StdioLoop):
    """Lets the error of the parser end the process."""

    def receive(self, line):
        try:
            json.loads(line.decode("utf-8", "replace"))
        except RecursionError:
            return
        super().receive(line)


class DiesOfInvalidJson(Server):
    """Exits at a line that is not JSON."""

    loop_class = InvalidJsonLoop


class BinaryLoop(StdioLoop):
    """Decodes outside of the code that catches errors."""

    def receive(self, line):
        line.decode("utf-8")
        super().receive(line)


class DiesOfBinary(Server):
    """Exits at bytes that are not UTF-8."""

    loop_class = BinaryLoop


class NestingLoop(StdioLoop):
    """Catches the usual error of the parser only."""

    def receive(self, line):
        try:
            json.loads(line.decode("utf-8"))
        except ValueError:
            return
        super().receive(line)


class DiesOfDeepNesting(Server):
    """Exits at JSON that is nested deeply."""

    loop_class = NestingLoop


class ScalarLoop(StdioLoop):
    """Reads a member of whatever was sent."""

    def receive(self, line):
        message = parse(line)
        if message is not None and not isinstance(message, list):
            message.get("method")
        super().receive(line)


class DiesOfScalar(Server):
    """Exits at a number or a text in place of a message."""

    loop_class = ScalarLoop


class LongLineLoop(StdioLoop):
    """Has a buffer of 64 KiB."""

    is_full = False

    def receive(self, line):
        self.is_full = self.is_full or len(line) > 65536
        if not self.is_full:
            super().receive(line)


class StopsAfterLongLine(Server):
    """Answers nothing any more after a long line."""

    loop_class = LongLineLoop


class SeparatorLoop(StdioLoop):
    """Splits lines at every character that ends a line in Unicode."""

    def receive(self, line):
        for part in line.decode("utf-8", "replace").splitlines():
            super().receive(part.encode("utf-8", "replace"))


class SplitsAtSeparators(Server):
    """Tears requests with U+2028 apart."""

    loop_class = SeparatorLoop


class PiecesLoop(StdioLoop):
    """Takes what one read returns for whole lines."""

    def run(self):
        while chunk := os.read(0, 4 * 1024 * 1024):
            time.sleep(0.001)
            for line in chunk.split(b"\n"):
                if line.strip():
                    self.receive(line)


class LosesPieces(Server):
    """Loses requests that arrive in several pieces."""

    loop_class = PiecesLoop


class NoiseLoop(StdioLoop):
    """Prints what it cannot parse."""

    def receive(self, line):
        if parse(line) is None:
            write_all(b"ignored a line that is not JSON\n")
            return
        super().receive(line)


class PrintsInvalidLines(Server):
    """Writes a log line to standard output."""

    loop_class = NoiseLoop


class SurrogateLoop(StdioLoop):
    """Encodes what it sends without a fallback."""

    def write(self, message):
        write_all(json.dumps(message, ensure_ascii=False).encode() + b"\n")


class DiesOfSurrogates(Server):
    """Exits when a response repeats half of a surrogate pair."""

    loop_class = SurrogateLoop


class SilentLoop(StdioLoop):
    """Drops requests whose params are a list."""

    def receive(self, line):
        message = parse(line)
        if isinstance(message, dict) and isinstance(message.get("params"), list):
            sys.stderr.write("dropped\n")
            return
        super().receive(line)


class IgnoresParamsByPosition(Server):
    """Leaves requests whose params are a list without a response."""

    loop_class = SilentLoop
