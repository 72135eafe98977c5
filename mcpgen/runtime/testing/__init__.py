"""What tests of a server need: a mock of its API, clients that see every frame, sample values.

Each name brings its module when it is first used: the generator samples values, and must not pay
for clients and servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpgen.runtime.testing.cases import Case, read_cases
    from mcpgen.runtime.testing.client import LEGACY, MODERN, Client, NoAnswerError, RpcError
    from mcpgen.runtime.testing.connections import ConnectionLostError
    from mcpgen.runtime.testing.mock import MockUpstream, RecordedRequest
    from mcpgen.runtime.testing.replies import Reply
    from mcpgen.runtime.testing.samples import CannotSampleError, sample
    from mcpgen.runtime.testing.suite import CaseResult, Suite
    from mcpgen.runtime.testing.workflow_suite import WorkflowCase, WorkflowSuite

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
    "Suite",
    "WorkflowCase",
    "WorkflowSuite",
    "read_cases",
    "sample",
]

_HOMES = {
    "cases": ("Case", "read_cases"),
    "client": ("LEGACY", "MODERN", "Client", "NoAnswerError", "RpcError"),
    "connections": ("ConnectionLostError",),
    "mock": ("MockUpstream", "RecordedRequest"),
    "replies": ("Reply",),
    "samples": ("CannotSampleError", "sample"),
    "suite": ("CaseResult", "Suite"),
    "workflow_suite": ("WorkflowCase", "WorkflowSuite"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
