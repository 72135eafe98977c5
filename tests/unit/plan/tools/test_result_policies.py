"""Tests of result policies in the manifest: accepted and rejected ones."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.schemas.output_profile import split_path

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
JOB = {
    "type": "object",
    "properties": {
        "status": {"enum": ["new", "done"]},
        "owner": {"type": "object", "properties": {"name": {"type": "string"}, "id": {}}},
        "results": {"type": "array", "items": {"$ref": "#/components/schemas/Result"}},
        "free": {"type": "object"},
    },
}
RESULT = {
    "oneOf": [
        {"type": "object", "properties": {"url": {"type": "string"}, "size": {"type": "integer"}}},
        {"type": "object", "properties": {"text": {"type": "string"}}},
    ]
}


class Jobs:
    def __init__(self, make: Any) -> None:
        def answered(schema: Any) -> Any:
            content = {"application/json": {"schema": schema}}
            return {"200": {"description": "done", "content": content}}

        root = make.document(schemas={"Job": JOB, "Result": RESULT})
        job = {"$ref": "#/components/schemas/Job"}
        root["paths"] = {
            "/job": {
                "get": {"operationId": "getJob", "responses": answered(job)},
                "post": {"operationId": "startJob", "responses": answered(job)},
                "delete": {"operationId": "stopJob", "responses": {"204": {"description": "ok"}}},
            },
            "/jobs": {
                "get": {
                    "operationId": "listJobs",
                    "parameters": [
                        {"name": name, "in": "query", "schema": {"type": "integer", **more}}
                        for name, more in (("page", {"default": 1}), ("perPage", {}))
                    ],
                    "responses": answered({"type": "array", "items": job}),
                }
            },
        }
        self.lowered = make(root)
        self.problems = Problems()

    def tool(self, name: str, entry: str) -> ToolPlan:
        text = f"{HEAD}operations:\n  {name}: {entry}\n"
        intent = read_manifest(text.encode(), self.problems)
        plan = plan_tools(self.lowered.api, Policy(intent), self.problems)
        (tool,) = [tool for tool in plan.tools if tool.operation.operation_id == name]
        return tool


@pytest.fixture
def jobs(make: Any) -> Jobs:
    return Jobs(make)


def test_the_output_schema_contains_only_selected_fields(jobs: Jobs) -> None:
    tool = jobs.tool(
        "getJob",
        "{result: {select: [status, owner.name, 'results[].url', 'results[].text', free.x]}}",
    )
    assert not list(jobs.problems)
    assert tool.output_schema is not None
    listed = tool.output_schema["properties"]
    assert set(listed) == {"status", "owner", "results", "free"}
    assert set(listed["owner"]["properties"]) == {"name"}
    assert set(listed["results"]["items"]["properties"]) == {"url", "text"}
    assert tool.policies.select["results"] == {"[]": {"url": {}, "text": {}}}


def test_items_of_a_bare_list_are_selected_under_the_result_key(jobs: Jobs) -> None:
    tool = jobs.tool("listJobs", "{result: {select: ['[].status'], max_items: 5}}")
    assert tool.output_schema is not None
    assert tool.result_key == "result"
    assert set(tool.output_schema["properties"]["result"]["items"]["properties"]) == {"status"}
    assert tool.policies.max_items == 5


def test_the_manifest_limits_or_removes_max_pages(jobs: Jobs) -> None:
    bounded = jobs.tool("listJobs", "{paginate: {max_pages: 50}}")
    assert bounded.input_schema["properties"]["max_pages"]["maximum"] == 50
    single = jobs.tool("listJobs", "{paginate: false}")
    assert "max_pages" not in single.input_schema["properties"]
    assert single.pagination is None


@pytest.mark.parametrize(
    ("name", "entry", "pointer", "message", "help"),
    [
        ("getJob", "{paginate: false}", "paginate", "no pagination", "leave"),
        ("getJob", "{result: {select: [staus]}}", "result/select/0", "`staus`", "`status`?"),
        ("getJob", "{result: {select: [owner.nam]}}", "result/select/0", "`nam`", "`owner.name`?"),
        ("getJob", "{result: {select: [results.url]}}", "result/select/0", "a list", "results[]"),
        ("getJob", "{result: {select: ['owner[].id']}}", "result/select/0", "not a list", "`name`"),
        ("getJob", "{result: {select: [owner, owner.id]}}", "result/select/1", "same", "leave one"),
        ("stopJob", "{result: {max_items: 1}}", "result", "no JSON", "leave"),
        ("startJob", "{poll: {until: status, values: [done]}}", "poll", "POST", "poll the"),
        ("getJob", "{poll: {until: state, values: [done]}}", "poll/until", "`state`", "`status`?"),
        ("getJob", "{poll: {until: status, values: [ok]}}", "poll/values/0", "never", "ok"),
        ("getJob", "{poll: {until: 'results[].url', values: [x]}}", "poll/until", "more than", ""),
        (
            "getJob",
            "{poll: {until: status, values: [done], interval_seconds: 60}}",
            "poll",
            "first wait",
            "less",
        ),
    ],
)
def test_a_policy_that_contradicts_the_operation_is_reported_at_its_location(
    jobs: Jobs, name: str, entry: str, pointer: str, message: str, help: str
) -> None:
    jobs.tool(name, entry)
    (problem,) = jobs.problems
    assert problem.at is not None
    assert problem.at.pointer == f"/operations/{name}/{pointer}"
    assert problem.at.line == 4
    assert message in problem.message
    assert help in problem.help
    assert jobs.problems.has_errors


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("id", ("id",)),
        ("a.b", ("a", "b")),
        ("items[].id", ("items", "[]", "id")),
        ("[].id", ("[]", "id")),
        ("rows[][].id", ("rows", "[]", "[]", "id")),
    ],
)
def test_split_path_returns_the_members_of_a_path(path: str, found: tuple[str, ...]) -> None:
    assert split_path(path) == found
