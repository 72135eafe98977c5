"""The cases of `mcpgen.tests.yaml`, run against the server as it is started for a client.

Over stdio and with the API's stand-in behind a socket, so that overrides, features and the HTTP
client take part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET, to_builtins

from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.testing.run import Group
from mcpgen.ir.tests_file import TESTS_FILE, CaseEntry, RequestEntry
from mcpgen.runtime.testing.client import Client, NoAnswerError, RpcError
from mcpgen.runtime.testing.compare import request_differences, same, text_of
from mcpgen.runtime.testing.connections import ConnectionLostError
from mcpgen.runtime.testing.mock import MockUpstream, RecordedRequest
from mcpgen.runtime.testing.replies import Reply

_PLACES = ("path", "query", "header", "cookie")


def run_own_cases(package: GeneratedPackage, cases: Sequence[CaseEntry]) -> Group:
    """Run cases one after the other on one server; give what came of them."""
    return asyncio.run(_run(package, cases))


async def _run(package: GeneratedPackage, cases: Sequence[CaseEntry]) -> Group:
    group = Group(TESTS_FILE)
    mock = MockUpstream(package.upstream())
    try:
        environment = package.environment(package.mock_environment(await mock.start()))
        async with await Client.over_stdio(package.command, environment) as client:
            for case in cases:
                if differences := [*await _differences(client, mock, case)]:
                    group.failed.append((case.id, "\n".join(differences)))
                else:
                    group.passed += 1
    finally:
        await mock.stop()
    return group


async def _differences(client: Client, mock: MockUpstream, case: CaseEntry) -> list[str]:
    mock.forget()
    for upstream in case.upstream:
        mock.reply_with(Reply.from_json(to_builtins(upstream.reply)), upstream.operation)
    try:
        result = await client.call_tool(case.call.tool, case.call.arguments)
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        return [f"the call was not answered: {error}"]
    return [*_sent(case, mock.requests), *result_problems(case, result)]


def _sent(case: CaseEntry, requests: Sequence[RecordedRequest]) -> Iterator[str]:
    for request in requests:
        yield from request.problems
    expected = case.expect.request
    if expected is UNSET:
        return
    if expected is None:
        yield from (f"`{request}` was sent, expected nothing to be" for request in requests)
    elif len(requests) != 1:
        yield f"{len(requests)} requests were sent, expected one"
    else:
        yield from _request_differences(expected, requests[0])


def _request_differences(expected: RequestEntry, sent: RecordedRequest) -> Iterator[str]:
    if expected.operation and expected.operation != sent.operation:
        yield f"`{sent.operation or sent}` was called, expected `{expected.operation}`"
    decoded = sent.decoded
    # What the case does not speak of is taken as it was sent.
    found: dict[str, Any] = {
        place: {name: reading.value for name, reading in getattr(decoded, place).items()}
        for place in _PLACES
    }
    for name in ("body", "querystring"):
        if (reading := getattr(decoded, name)) is not None:
            found[name] = reading.value
    yield from request_differences({**found, **to_builtins(expected)}, sent)


def result_problems(case: CaseEntry, result: dict[str, Any]) -> Iterator[str]:
    """Say what of a result is not as a case has it."""
    expect, text = case.expect, text_of(result)
    if result.get("isError", False) is not expect.is_error:
        yield f"isError is {not expect.is_error}, expected {expect.is_error}; it says: {text[:500]}"
    yield from (
        f"the text has no `{p}`: {text[:500]}" for p in expect.text.contains if p not in text
    )
    yield from (f"the text has `{p}`: {text[:500]}" for p in expect.text.not_contains if p in text)
    if expect.structured is not UNSET:
        structured = result.get("structuredContent")
        if not same(expect.structured, structured):
            yield f"structured content: {structured}, expected {expect.structured}"
