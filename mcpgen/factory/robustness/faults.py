"""Criteria for faults of a server in a robustness run, and findings of faults.

Behaviour that the specification permits is no fault: closing an HTTP connection, HTTP 413, 403 or
429, no response to a line that is not a request, the end of a session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject


class Fault(Struct, frozen=True):
    """A kind of fault."""

    id: str
    severity: Literal["error", "warning"]
    title: str  # what a server must be like
    why: str
    help: str


FAULTS: Final[Mapping[str, Fault]] = {
    fault.id: fault
    for fault in (
        Fault(
            "process-ended",
            "error",
            "No message ends the process of a server; only the end of its standard input does.",
            "one malformed message takes the tools away from the user",
            "catch the error where messages are read and handled, and answer it or ignore it",
        ),
        Fault(
            "stopped-answering",
            "error",
            "After any message, a server still answers a harmless request.",
            "the client waits for ever, and shows the server as connected",
            "bound the work for one message, and do not block the loop that reads messages",
        ),
        Fault(
            "request-lost",
            "error",
            "A request that is well-formed is answered, however its bytes are split or written.",
            "pipes deliver lines in pieces: the request of a client is lost now and then",
            "read until the line feed (0x0A), join the pieces, and split at nothing else",
        ),
        Fault(
            "request-unanswered",
            "warning",
            "A request whose id can be read is answered, with an error if it is invalid.",
            "the client waits for the response until its time limit",
            "answer with the error -32600 or -32602 and the id of the request",
        ),
        Fault(
            "left-running",
            "error",
            "The process ends after its standard input was closed, also in the middle of a call.",
            "processes without a client stay in memory",
            "end at the end of standard input; cancel or finish calls that still run",
        ),
        Fault(
            "child-left-running",
            "error",
            "The processes that a server started end with it.",
            "processes without a client stay in memory",
            "stop child processes when the server ends",
        ),
        Fault(
            "memory-growth",
            "warning",
            "Memory does not grow with the number of messages.",
            "a server that runs for days is killed by the system",
            "release what belongs to a request when it is answered; bound caches",
        ),
        Fault(
            "stdout-noise",
            "error",
            "Standard output contains messages only.",
            "clients close the connection, or show errors, at a line that is no message",
            "write logs to standard error",
        ),
        Fault(
            "traceback-leaked",
            "error",
            "Errors that a client sees contain no stack trace.",
            "a stack trace tells an attacker about the code, and a model nothing that helps it",
            "catch the error, log the stack trace, and answer with one sentence",
        ),
        Fault(
            "path-leaked",
            "warning",
            "Errors that a client sees name no file of the server's code.",
            "paths tell about the machine and its user",
            "answer with one sentence that does not contain the text of internal errors",
        ),
        Fault(
            "internal-error",
            "warning",
            "What is wrong with a message is not answered as an internal error.",
            "the client takes its own mistake for a fault of the server, and does not correct it",
            "answer with -32600, -32602 or `isError` and say what is wrong; over HTTP with 4xx",
        ),
        Fault(
            "blocked-by-client",
            "error",
            "While one HTTP client sends its request slowly, others are served.",
            "one slow or vanished client takes the tools away from all users",
            "serve connections concurrently, with a time limit for the request",
        ),
    )
}


class Finding(Struct, frozen=True):
    """A fault that an experiment showed, with the frames that prove it."""

    fault: Fault
    experiment: str
    group: str
    transport: str
    message: str
    evidence: Sequence[JsonObject] = ()
    times: int = 1  # how often the experiment showed it
