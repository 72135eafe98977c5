"""Minimal operations for tests of naming."""

from __future__ import annotations

from mcpgen.diagnostics import Location, Place
from mcpgen.ir.api import Operation, Parameter, Server


def operation(
    operation_id: str = "",
    path: str = "/pets",
    method: str = "GET",
    *,
    summary: str = "",
    tag: str = "default",
    source: str = "",
    server: str = "https://api.example.com",
    required: tuple[str, ...] = (),
    deprecated: bool = False,
) -> Operation:
    """Make an operation; `required` are names of query parameters."""
    at = Place("", lambda _: Location("api.json"))
    parameters = (
        Parameter(name, "query", True, {"type": "string"}, "form", True, at) for name in required
    )
    return Operation(
        method=method,
        path=path,
        operation_id=operation_id,
        tag=tag,
        summary=summary,
        description="",
        parameters=tuple(parameters),
        request_body=None,
        responses=(),
        security=(),
        servers=(Server(server),),
        at=at,
        deprecated=deprecated,
        source=source,
    )
