"""Execution of the cases in `mcpgen.tests.yaml` against a started server.

The server uses stdio and the mock API a socket, so that overrides, features and the HTTP client are
tested too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import UNSET, Struct, to_builtins

from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.test.results import Group
from mcpgen.ir.tests_file import TESTS_FILE, CaseEntry, RequestEntry
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.client.client import Client, NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError
from mcpgen.testing.mock.replies import Reply
from mcpgen.testing.mock.upstream import MockUpstream, RecordedRequest
from mcpgen.testing.suite.cases import PLACES
from mcpgen.testing.suite.compare import compare_request, compare_text, is_same, text_of


class Observed(Struct, frozen=True):
    """The requests and the result of a case's call."""

    case: CaseEntry
    requests: tuple[RecordedRequest, ...]
    result: JsonObject
    problem: str = ""  # why there is no result

    def differences(self) -> list[str]:
        """Return the differences from the expectations."""
        if self.problem:
            return [self.problem]
        return [
            *_check_requests(self.case, self.requests),
            *compare_expected_result(self.case, self.result),
        ]


def summarize(observed: Sequence[Observed]) -> Group:
    """Return the passed and failed cases."""
    group = Group(TESTS_FILE)
    for each in observed:
        if differences := each.differences():
            group.failed.append((each.case.id, "\n".join(differences)))
        else:
            group.passed.append(each.case.id)
    return group


def observe(package: GeneratedPackage, cases: Sequence[CaseEntry]) -> tuple[Observed, ...]:
    """Run cases one after the other on one server."""
    try:
        return asyncio.run(_observe(package, cases))
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        problem = f"the server did not start: {error}"
        return tuple(Observed(case, (), {}, problem) for case in cases)


async def _observe(package: GeneratedPackage, cases: Sequence[CaseEntry]) -> tuple[Observed, ...]:
    mock = MockUpstream(package.upstream())
    try:
        environment = package.environment(package.mock_environment(await mock.start()))
        async with await Client.over_stdio(package.command, environment) as client:
            return tuple([await _call(client, mock, case) for case in cases])
    finally:
        await mock.stop()


async def _call(client: Client, mock: MockUpstream, case: CaseEntry) -> Observed:
    mock.forget()
    for upstream in case.upstream:
        mock.reply_with(Reply.from_json(to_builtins(upstream.reply)), upstream.operation)
    try:
        result = await client.call_tool(case.call.tool, case.call.arguments)
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        return Observed(case, (), {}, f"the call was not answered: {error}")
    return Observed(case, tuple(mock.requests), result)


def _check_requests(case: CaseEntry, requests: Sequence[RecordedRequest]) -> Iterator[str]:
    for request in requests:
        yield from request.problems
    expected = case.expect.request
    if expected is UNSET:
        return
    if expected is None:
        yield from (f"`{request}` was sent, expected no request" for request in requests)
    elif len(requests) != 1:
        yield f"{len(requests)} requests were sent, expected one"
    else:
        yield from compare_expected_request(expected, requests[0])


def compare_expected_request(expected: RequestEntry, sent: RecordedRequest) -> Iterator[str]:
    """Yield the differences between a request and the expected one."""
    if expected.operation and expected.operation != sent.operation:
        yield f"`{sent.operation or sent}` was called, expected `{expected.operation}`"
    # What the case does not mention may have any value.
    yield from compare_request({**decode_values(sent), **to_builtins(expected)}, sent)


def decode_values(sent: RecordedRequest) -> JsonObject:
    """Return the values of a request by place and name, as in a case."""
    decoded = sent.decoded
    found: JsonObject = {
        place: {name: reading.value for name, reading in getattr(decoded, place).items()}
        for place in PLACES
    }
    for name in ("body", "querystring"):
        if (reading := getattr(decoded, name)) is not None:
            found[name] = reading.value
    return found


def compare_expected_result(case: CaseEntry, result: JsonObject) -> Iterator[str]:
    """Yield the differences between a result and the expected one."""
    expect, text = case.expect, text_of(result)
    if result.get("isError", False) is not expect.is_error:
        yield f"isError is {not expect.is_error}, expected {expect.is_error}; it says: {text[:500]}"
    yield from compare_text(to_builtins(expect.text), text)
    if expect.structured is not UNSET:
        structured = result.get("structuredContent")
        if not is_same(expect.structured, structured):
            yield f"structured content: {structured}, expected {expect.structured}"
