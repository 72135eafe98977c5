"""The cases of `mcpgen.tests.yaml`, run against the server as it is started for a client.

Over stdio and with the API's stand-in behind a socket, so that overrides, features and the HTTP
client take part.
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
    """What came of the call of a case."""

    case: CaseEntry
    requests: tuple[RecordedRequest, ...]
    result: JsonObject
    problem: str = ""  # why there is no result

    def differences(self) -> list[str]:
        """Say what is not as the case has it."""
        if self.problem:
            return [self.problem]
        return [
            *_check_requests(self.case, self.requests),
            *result_problems(self.case, self.result),
        ]


def group_of(observed: Sequence[Observed]) -> Group:
    """Tell which cases are as they must be."""
    group = Group(TESTS_FILE)
    for each in observed:
        if differences := each.differences():
            group.failed.append((each.case.id, "\n".join(differences)))
        else:
            group.passed.append(each.case.id)
    return group


def observe(package: GeneratedPackage, cases: Sequence[CaseEntry]) -> tuple[Observed, ...]:
    """Run cases one after the other on one server; where it does not start, each says so."""
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
        yield from request_problems(expected, requests[0])


def request_problems(expected: RequestEntry, sent: RecordedRequest) -> Iterator[str]:
    """Say what of a request is not as a case has it."""
    if expected.operation and expected.operation != sent.operation:
        yield f"`{sent.operation or sent}` was called, expected `{expected.operation}`"
    # What the case does not speak of is taken as it was sent.
    yield from compare_request({**decode_values(sent), **to_builtins(expected)}, sent)


def decode_values(sent: RecordedRequest) -> JsonObject:
    """Give what a request says by the names of the API, place by place, as a case has it."""
    decoded = sent.decoded
    found: JsonObject = {
        place: {name: reading.value for name, reading in getattr(decoded, place).items()}
        for place in PLACES
    }
    for name in ("body", "querystring"):
        if (reading := getattr(decoded, name)) is not None:
            found[name] = reading.value
    return found


def result_problems(case: CaseEntry, result: JsonObject) -> Iterator[str]:
    """Say what of a result is not as a case has it."""
    expect, text = case.expect, text_of(result)
    if result.get("isError", False) is not expect.is_error:
        yield f"isError is {not expect.is_error}, expected {expect.is_error}; it says: {text[:500]}"
    yield from compare_text(to_builtins(expect.text), text)
    if expect.structured is not UNSET:
        structured = result.get("structuredContent")
        if not is_same(expect.structured, structured):
            yield f"structured content: {structured}, expected {expect.structured}"
