"""The former place of `mcpgen.testing`; the tests of packages made before 0.5 import from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpgen.testing import (
        LEGACY,
        MODERN,
        CannotSampleError,
        Case,
        CaseResult,
        Client,
        ConnectionLostError,
        MockUpstream,
        NoAnswerError,
        RecordedRequest,
        Reply,
        RpcError,
        Suite,
        WorkflowCase,
        WorkflowSuite,
        read_cases,
        sample,
    )

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


def __getattr__(name: str) -> Any:
    from importlib import import_module

    return getattr(import_module("mcpgen.testing"), name)
