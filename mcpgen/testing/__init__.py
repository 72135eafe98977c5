"""Tools for tests of a server: a mock of its API, raw clients, and sample values.

Modules are imported on first use, so that commands that need only a client start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpgen.jsonschema.samples import CannotSampleError, sample
    from mcpgen.testing.client.client import LEGACY, MODERN, Client, NoAnswerError, RpcError
    from mcpgen.testing.client.connections import ConnectionLostError
    from mcpgen.testing.mock.replies import Reply
    from mcpgen.testing.mock.upstream import MockUpstream, RecordedRequest
    from mcpgen.testing.suite.cases import Case, read_cases
    from mcpgen.testing.suite.generated import CaseResult, Suite
    from mcpgen.testing.suite.hand_written import Served
    from mcpgen.testing.suite.workflows import WorkflowCase, WorkflowSuite

__all__ = [
    "LEGACY",
    "MODERN",
    "CannotSampleError",
    "Case",
    "CaseResult",
    "Client",
    "ConnectionLostError",
    "MockUpstream",
    "NoAnswerError",
    "RecordedRequest",
    "Reply",
    "RpcError",
    "Served",
    "Suite",
    "WorkflowCase",
    "WorkflowSuite",
    "read_cases",
    "sample",
]

_HOMES = {
    "mcpgen.testing.suite.cases": ("Case", "read_cases"),
    "mcpgen.testing.client.client": ("LEGACY", "MODERN", "Client", "NoAnswerError", "RpcError"),
    "mcpgen.testing.client.connections": ("ConnectionLostError",),
    "mcpgen.testing.mock.upstream": ("MockUpstream", "RecordedRequest"),
    "mcpgen.testing.mock.replies": ("Reply",),
    "mcpgen.jsonschema.samples": ("CannotSampleError", "sample"),
    "mcpgen.testing.suite.generated": ("CaseResult", "Suite"),
    "mcpgen.testing.suite.hand_written": ("Served",),
    "mcpgen.testing.suite.workflows": ("WorkflowCase", "WorkflowSuite"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
