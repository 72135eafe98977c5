"""The proof of a package's workflows: run on the mock upstream, to the end and into a failure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.testing.client import Client
from mcpgen.runtime.testing.compare import request_differences, same, text_of
from mcpgen.runtime.testing.mock import MockUpstream
from mcpgen.runtime.testing.replies import Reply
from mcpgen.runtime.testing.served import demand
from mcpgen.runtime.testing.suite import Suite


@dataclass(frozen=True, slots=True)
class WorkflowCase:
    """One run of a workflow: an entry of `workflows.json`.

    `replies` are what the API answers, by operation; `requests` what it must be sent, in order;
    `failure` says which step fails, how, and what took effect before. `untested` is "" or why
    there is no run.
    """

    tool: str
    arguments: JsonObject
    replies: JsonObject
    requests: Sequence[JsonObject]
    result: JsonObject
    failure: JsonObject
    untested: str

    @classmethod
    def from_json(cls, entry: JsonObject) -> WorkflowCase:
        """Read an entry."""
        return cls(
            entry["tool"],
            entry.get("arguments", {}),
            entry.get("replies", {}),
            entry.get("requests", []),
            entry.get("result", {}),
            entry.get("failure", {}),
            entry.get("untested", ""),
        )

    def __str__(self) -> str:
        return self.tool


class WorkflowSuite(Suite):
    """The generated tests of the workflows of one package."""

    @cached_property
    def workflows(self) -> Sequence[WorkflowCase]:
        """The runs of `workflows.json`, in its order."""
        entries = json.loads((self.folder / "workflows.json").read_bytes())
        return [WorkflowCase.from_json(entry) for entry in entries]

    def run_through(self, case: WorkflowCase) -> None:
        """Run all steps, and compare what was sent and what came back with the case."""
        mock, result = self._played(case, {})
        differences = [*self._sent_by(case.requests, mock)]
        if result.get("isError"):
            differences.append(f"it failed: {text_of(result)[:500]}")
        elif not same(case.result, result.get("structuredContent")):
            found = json.dumps(result.get("structuredContent"))
            differences.append(f"gave {found[:500]}, expected {json.dumps(case.result)[:500]}")
        demand(not differences, "\n  ".join([f"{case.tool}:", *differences]))

    def run_into_failure(self, case: WorkflowCase) -> None:
        """Let one step fail: nothing follows it, and the result tells what took effect."""
        failure = case.failure
        operation = failure["operation"]
        mock, result = self._played(case, {operation: Reply(status=failure["status"])})
        at = [request["operation"] for request in case.requests].index(operation)
        differences = [*self._sent_by(case.requests[: at + 1], mock)]
        text = text_of(result)
        if not result.get("isError"):
            differences.append(f"it did not fail: {text[:500]}")
        told = [f"step `{failure['step']}` failed", str(failure["status"])]
        told += [f"- `{step}` (" for step in failure["took_effect"]]
        differences += [
            f"the text has no `{part}`: {text[:500]}" for part in told if part not in text
        ]
        demand(not differences, "\n  ".join([f"{case.tool}:", *differences]))

    def check_workflows(self) -> None:
        """Every workflow has a run, or says why it has none."""
        tools = self._toolbox.tools
        planned = {name for name, tool in tools.items() if "steps" in tool.contract}
        missing = sorted(planned - {case.tool for case in self.workflows})
        demand(not missing, f"nothing runs {', '.join(missing)}")

    def _played(
        self, case: WorkflowCase, failing: dict[str, Reply]
    ) -> tuple[MockUpstream, JsonObject]:
        base_url = self._base_url(case.requests[0]["operation"])
        mock = MockUpstream(self._api, secrets=self._secrets, base_url=base_url)
        for operation, reply in case.replies.items():
            mock.reply_with(failing.get(operation, Reply.from_json(reply)), operation)
        return mock, asyncio.run(self._answer(case, base_url, mock))

    async def _answer(self, case: WorkflowCase, base_url: str, mock: MockUpstream) -> JsonObject:
        client = Client.in_memory(self._server, self._environ(base_url), send=mock.send)
        async with client:
            return await client.call_tool(case.tool, case.arguments)

    def _sent_by(self, expected: Sequence[JsonObject], mock: MockUpstream) -> Iterator[str]:
        if len(mock.requests) != len(expected):
            yield f"{len(mock.requests)} requests were sent, expected {len(expected)}"
        for wanted, sent in zip(expected, mock.requests, strict=False):
            if sent.operation != wanted["operation"]:
                yield f"`{sent.operation or sent}` was called, expected `{wanted['operation']}`"
                continue
            yield from sent.problems
            yield from request_differences(wanted, sent)
