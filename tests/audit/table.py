"""Servers with one fault each, and the findings that an audit must report for them."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Faulty(NamedTuple):
    """A server and its known fault.

    At least one of `experiments` must find the fault `rule`. No other experiment may find it, and
    no other fault may be found, except those in `also`.
    """

    server: str
    rule: str
    experiments: tuple[str, ...]
    also: tuple[str, ...] = ()
    transport: str = "stdio"

    def load(self) -> type[Any]:
        """Return the class of the server."""
        module, _, name = self.server.partition(".")
        found: type[Any] = getattr(importlib.import_module(f"tests.audit.broken.{module}"), name)
        return found


ENDED, STOPPED = "process-ended", "stopped-answering"
BROKEN = (
    Faulty("frames.DiesOfInvalidJson", ENDED, ("frames-invalid-json", "frames-truncated"), ("*",)),
    Faulty("frames.DiesOfBinary", ENDED, ("frames-binary",), ("frames-truncated",)),
    Faulty("frames.DiesOfDeepNesting", ENDED, ("arguments-deep-nesting",)),
    Faulty("frames.DiesOfScalar", ENDED, ("frames-no-object",)),
    Faulty("frames.StopsAfterLongLine", STOPPED, ("frames-long",), ("memory-growth", "*")),
    Faulty(
        "frames.SplitsAtSeparators",
        "request-unanswered",
        ("frames-line-separators",),
        ("arguments-unicode", "arguments-control-characters", "requests-ids"),
    ),
    Faulty("frames.LosesPieces", "request-lost", ("frames-in-pieces",), ("*",)),
    Faulty("frames.PrintsInvalidLines", "stdout-noise", ("frames-invalid-json",), ("*",)),
    Faulty("frames.DiesOfSurrogates", ENDED, ("arguments-lone-surrogates",)),
    Faulty("frames.IgnoresParamsByPosition", "request-unanswered", ("requests-params",)),
    Faulty("calls.HangsOnCancellation", STOPPED, ("cancel-unknown",)),
    Faulty("calls.DiesOfRepeatedCancellation", ENDED, ("cancel-ended",), ("cancel-unknown",)),
    Faulty("calls.DiesOfOddIds", ENDED, ("requests-ids",)),
    Faulty(
        "calls.TracebackInResult",
        "traceback-leaked",
        ("arguments-wrong-types", "arguments-incomplete"),
        ("*",),
    ),
    Faulty("calls.TracebackInError", "traceback-leaked", ("requests-wrong-calls",)),
    Faulty("calls.PathInError", "path-leaked", ("arguments-wrong-types",), ("*",)),
    Faulty("calls.InternalErrorForArguments", "internal-error", ("arguments-wrong-types",), ("*",)),
    Faulty("calls.LeaksMemory", "memory-growth", ("memory-growth",)),
    Faulty("calls.SlowPattern", STOPPED, ("arguments-huge-strings",), ("memory-growth",)),
    Faulty("calls.TrustsPrototypeKeys", ENDED, ("arguments-prototype-keys",)),
    Faulty("calls.LosesUnknownMethods", "request-unanswered", ("requests-methods",)),
    Faulty("ends.IgnoresEndOfInput", "left-running", ("end-idle",)),
    Faulty("ends.WaitsForHalfLines", "left-running", ("end-in-frame",)),
    Faulty("ends.LeavesChild", "child-left-running", ("end-idle",), ("*",)),
    Faulty("http.StopsAfterHalfBody", STOPPED, ("http-disconnect-in-body",), ("*",), "http"),
    Faulty(
        "http.StopsAfterDisconnect",
        STOPPED,
        ("http-disconnect-before-response",),
        ("*",),
        "http",
    ),
    Faulty("http.ServesOneByOne", "blocked-by-client", ("http-slow-body",), ("*",), "http"),
    Faulty("http.TracebackPage", "traceback-leaked", ("frames-invalid-json",), ("*",), "http"),
    Faulty("http.FailsAtInvalidJson", "internal-error", ("frames-invalid-json",), ("*",), "http"),
)  # fmt: skip
