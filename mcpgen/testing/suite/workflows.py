"""Tests of a package's workflows against the mock API: complete runs and runs with a failure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from msgspec import convert

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.testing.client.client import Client
from mcpgen.testing.mock.replies import Reply
from mcpgen.testing.mock.upstream import MockUpstream
from mcpgen.testing.suite.compare import compare_request, compare_text, is_same, text_of
from mcpgen.testing.suite.generated import Suite
from mcpgen.testing.suite.hand_written import require


@dataclass(frozen=True, slots=True)
class WorkflowCase:
    """One run of a workflow: an entry of `workflows.json`, or one of its `detours`.

    `replies` are the replies of the API by operation, `requests` the expected requests in order.
    `fault` selects requests that get an error. `failure` is a fault that ends the run, with the
    steps that took effect before it. `untested` is "" or the reason why there is no run.
    """

    tool: str
    arguments: JsonObject = field(default_factory=dict)
    replies: JsonObject = field(default_factory=dict)
    requests: Sequence[JsonObject] = ()
    result: JsonObject = field(default_factory=dict)
    failure: JsonObject = field(default_factory=dict)
    untested: str = ""
    waits_seconds: float = 0.0
    fault: JsonObject = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)  # environment variables

    @classmethod
    def from_json(cls, entry: JsonObject) -> WorkflowCase:
        """Read an entry of `workflows.json`."""
        return convert(entry, cls)

    def detour(self, entry: JsonObject) -> WorkflowCase:
        """Return the variant of this run with an error or with other replies."""
        return replace(
            self,
            arguments=entry.get("arguments", self.arguments),
            replies=entry.get("replies", self.replies),
            requests=entry["requests"],
            result=entry["result"],
            waits_seconds=entry.get("waits_seconds", 0.0),
            fault=entry,
        )

    def __str__(self) -> str:
        if "status" in self.fault:
            return f"{self.tool}-{self.fault['status']}-at-{self.fault['at']}"
        return f"{self.tool}-otherwise" if self.fault else self.tool


class WorkflowSuite(Suite):
    """The generated tests of the workflows of one package."""

    @cached_property
    def workflows(self) -> Sequence[WorkflowCase]:
        """The runs of `workflows.json`, in its order."""
        return [WorkflowCase.from_json(entry) for entry in self._entries]

    @cached_property
    def detours(self) -> Sequence[WorkflowCase]:
        """The variants of the runs, with an error or with other replies."""
        return [
            case.detour(detour)
            for case, entry in zip(self.workflows, self._entries, strict=True)
            for detour in entry.get("detours", ())
        ]

    @cached_property
    def _entries(self) -> Sequence[JsonObject]:
        entries: list[JsonObject] = json.loads((self.folder / "workflows.json").read_bytes())
        return entries

    def run_through(self, case: WorkflowCase) -> None:
        """Run all steps; compare the requests, the result and the waits with the case."""
        mock, result, waited = self._run_workflow(case, case.fault)
        differences = [*self._compare_requests(case.requests, mock)]
        if result.get("isError"):
            differences.append(f"the workflow failed: {text_of(result)[:500]}")
        elif not is_same(case.result, result.get("structuredContent")):
            found = json.dumps(result.get("structuredContent"))
            differences.append(f"returned {found[:500]}, expected {json.dumps(case.result)[:500]}")
        if waited != case.waits_seconds:
            differences.append(f"waited {waited} seconds, expected {case.waits_seconds}")
        require(not differences, "\n  ".join([f"{case}:", *differences]))

    def run_into_failure(self, case: WorkflowCase) -> None:
        """Let one step fail: no step follows it, and the result names those that took effect."""
        failure = case.failure
        mock, result, _ = self._run_workflow(case, failure)
        at = failure["at"]
        expected = [*case.requests[:at], *[case.requests[at]] * failure["times"]]
        differences = [*self._compare_requests(expected, mock)]
        text = text_of(result)
        if not result.get("isError"):
            differences.append(f"the workflow did not fail: {text[:500]}")
        parts = [f"step `{failure['step']}` failed", str(failure["status"])]
        parts += [f"- `{step}` (" for step in failure["took_effect"]]
        differences += compare_text({"contains": parts}, text)
        require(not differences, "\n  ".join([f"{case.tool}:", *differences]))

    def check_workflows(self) -> None:
        """Check that every workflow has a run or a reason why it has none."""
        tools = self._registry.tools
        planned = {name for name, tool in tools.items() if "steps" in tool.contract}
        missing = sorted(planned - {case.tool for case in self.workflows})
        require(not missing, f"no case runs {', '.join(missing)}")

    def _run_workflow(
        self, case: WorkflowCase, fault: JsonObject
    ) -> tuple[MockUpstream, JsonObject, float]:
        """Call the workflow; from request `at` on, `times` requests get the status of `fault`."""
        base_url = self._base_url(case.requests[0]["operation"])
        mock = MockUpstream(self._api, secrets=self._secrets, base_url=base_url)
        first = fault.get("at", 0)
        failing = range(first, first + fault.get("times", 0))
        error = Reply.from_json({"status": fault.get("status", 0), "body": {}})

        async def send(request: HttpRequest) -> HttpResponse:
            is_failing = len(mock.requests) in failing
            for operation, reply in case.replies.items():
                mock.reply_with(error if is_failing else Reply.from_json(reply), operation)
            return await mock.send(request)

        return self._loop.run_until_complete(self._call_workflow(case, base_url, mock, send))

    async def _call_workflow(
        self, case: WorkflowCase, base_url: str, mock: MockUpstream, send: Sender
    ) -> tuple[MockUpstream, JsonObject, float]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        environ = {**self._environ(base_url), **case.settings}
        async with Client.in_memory(self._server, environ, send=send) as client:
            result = await client.call_tool(case.tool, case.arguments)
            return mock, result, round(loop.time() - started, 3)

    def _compare_requests(
        self, expected: Sequence[JsonObject], mock: MockUpstream
    ) -> Iterator[str]:
        if len(mock.requests) != len(expected):
            yield f"{len(mock.requests)} requests were sent, expected {len(expected)}"
        for request, sent in zip(expected, mock.requests, strict=False):
            if sent.operation != request["operation"]:
                yield f"`{sent.operation or sent}` was called, expected `{request['operation']}`"
                continue
            yield from sent.problems
            yield from compare_request(request, sent)
