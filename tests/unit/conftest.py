"""Handwritten documents, lowered and planned."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.diagnostics import Diagnostic, Location, Problems
from mcpgen.ir.api import Api
from mcpgen.ir.document import Document
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.openapi.lower.lower import lower
from mcpgen.pipeline import user_cache
from mcpgen.plan.plan import plan_tools
from tests.support.policies import first_policy


class Lowered:
    """An API, and the problems that lowering and planning reported."""

    def __init__(self, root: dict[str, Any], url: str | None = None) -> None:
        declared = str(root.get("openapi") or root.get("swagger"))
        self.problems = Problems()
        document = Document(
            root=copy.deepcopy(root),
            version=".".join(declared.split(".")[:2]),
            shown_as="api.json",
            path=None,
            url=url,
            files=(),
            locate=lambda pointer: Location("api.json", 1, 1, pointer=pointer),
        )
        self.api: Api = lower(document, self.problems)

    def plan(self, **policy: Any) -> ServerPlan:
        """Return the plan of the server."""
        return plan_tools(self.api, first_policy(**{"name": "demo", **policy}), self.problems)

    def tool(self, **policy: Any) -> ToolPlan:
        """Return the only tool."""
        (tool,) = self.plan(**policy).tools
        return tool

    def found(self, code: str) -> list[Diagnostic]:
        """Return the problems with this rule."""
        return [problem for problem in self.problems if problem.code == code]


@pytest.fixture
def other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Simulate a changed mcpgen, whose code digest differs from the one before."""
    changed = tmp_path / "changed.py"
    changed.write_text("# other code\n")
    sources = [*user_cache._list_sources(), str(changed)]
    monkeypatch.setattr(user_cache, "_list_sources", lambda: sources)
    user_cache.code_digest.cache_clear()
    yield
    user_cache.code_digest.cache_clear()


def document(
    operation: dict[str, Any] | None = None,
    *,
    path: str = "/pets",
    method: str = "get",
    version: str = "3.0.3",
    schemas: dict[str, Any] | None = None,
    **root: Any,
) -> dict[str, Any]:
    """Return a document of one operation."""
    operation = {"responses": {"204": {"description": "done"}}, **(operation or {})}
    described: dict[str, Any] = {
        "openapi": version,
        "info": {"title": "Demo", "version": "1"},
        "servers": [{"url": "https://api.example/v1"}],
        "paths": {path: {method: operation}},
    }
    if schemas:
        described["components"] = {"schemas": schemas}
    for key, value in root.items():
        if isinstance(value, dict) and isinstance(described.get(key), dict):
            described[key] = {**described[key], **value}
        else:
            described[key] = value
    return described


def with_body(schema: Any, media_type: str = "application/json", **options: Any) -> dict[str, Any]:
    """Return a document of one operation with a request body."""
    body = {"required": True, "content": {media_type: {"schema": schema}}}
    return document({"requestBody": body}, method=options.pop("method", "post"), **options)


def with_parameters(*parameters: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return a document of one operation with parameters."""
    return document({"parameters": list(parameters)}, **options)


def with_response(schema: Any, **options: Any) -> dict[str, Any]:
    """Return a document of one operation with a JSON response."""
    content = {"application/json": {"schema": schema}}
    return document({"responses": {"200": {"description": "ok", "content": content}}}, **options)


class Make:
    """Factory of documents; calling it lowers one."""

    document = staticmethod(document)
    with_body = staticmethod(with_body)
    with_parameters = staticmethod(with_parameters)
    with_response = staticmethod(with_response)

    def __call__(self, root: dict[str, Any], url: str | None = None) -> Lowered:
        return Lowered(root, url)


@pytest.fixture
def make() -> Make:
    """Return a factory of small documents; calling it lowers one."""
    return Make()
