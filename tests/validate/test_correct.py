"""Tests that the validator reports no false finding about a correct server.

`make validate-selftest` examines those on the Python SDKs too.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from mcpgen.factory.validate.checks import stdio
from mcpgen.factory.validate.probe import Knowledge, Probe, ProbeOptions
from mcpgen.factory.validate.verdicts import Verdict
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.targets import Target
from tests.validate.check import check_correct, find_false_findings
from tests.validate.correct import unusual
from tests.validate.correct.table import EXAMPLE, MINIMAL, TYPESCRIPT_SDKS, Correct
from tests.validate.correct.table import unusual as command_of
from tests.validate.examine import examine, serve
from tests.validate.servers.core import INVALID_REQUEST, LEGACY, MODERN, Ask, RpcError
from tests.validate.servers.features import Server
from tests.validate.servers.http import (
    EVENTS,
    HttpConnection,
    HttpServer,
    HttpSession,
    Reply,
    Request,
    Stream,
)

pytestmark = pytest.mark.slow

REVISIONS = (*LEGACY, MODERN)
UNUSUAL = [
    server
    for server in vars(unusual).values()
    if inspect.isclass(server) and server.__module__ == unusual.__name__
    if issubclass(server, Server)
]

TRUE_FINDINGS = {  # of unusual servers, which break a SHOULD
    "ErrorsAsText": {"unknown-tool-code": "an unknown tool is a protocol error"},
}


class LongTools(unusual.LongTools, HttpServer):
    """A server over HTTP whose list of tools takes many packets."""


class UnknownNotificationsRefused(HttpServer):
    """A server that rejects unknown notifications, alone and in batches."""

    async def post_legacy(self, request: Any, connection: Any, message: Any) -> Any:
        sent = message if isinstance(message, list) else [message]
        if any(it.get("method", "").startswith("notifications/mcpgen") for it in sent):
            return self.make_refusal(400, RpcError(INVALID_REQUEST, "unknown notification"))
        return await super().post_legacy(request, connection, message)


class EventStreams(HttpServer):
    """A server that answers every request of a session with an event stream."""

    prefers_events = True


class RefusesOriginsAsErrors(HttpServer):
    """A server that rejects pages of other sites with an error code from before MCP's ranges."""

    def check_origin(self, request: Request) -> Reply | None:
        refused = super().check_origin(request) is not None
        error = RpcError(-32000, "invalid origin")
        return self.make_refusal(403, error) if refused else None


class PolledStreams(HttpServer):
    """A server that closes the connection of each slow call; the resumed stream stays open."""

    async def send_events(
        self,
        stream: Stream,
        connection: HttpConnection,
        session: HttpSession | None = None,
        position: int = 0,
    ) -> None:
        first = stream.messages[0] if stream.messages else {}
        if stream.is_modern or first.get("method") != "notifications/progress":
            await super().send_events(stream, connection, session, position)
        elif session is None:
            await connection.begin(200, [("Content-Type", EVENTS)])
            await connection.write(b"retry: 10\n" + self.format_event(stream, 0, b""))
            await connection.write(self.format_event(stream, 1, self.encode(first)))
        else:
            await super().send_events(stream, connection, session, position)
            await connection.wait(asyncio.Event())


def test_the_time_of_the_start_is_not_counted_as_that_of_the_exit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "_EXIT_SECONDS", 1.0)

    async def check() -> Verdict:
        target = Target(command=command_of("SlowStart"))
        probe = Probe(target, MODERN, "stdio", Recording(), ProbeOptions(), Knowledge())
        return (await stdio.ACTIVE["exit-at-end-of-input"](probe)).verdict

    assert asyncio.run(check()) is Verdict.PASS


class AsksOnGetStream(HttpServer):
    """A server that sends its requests on the stream that the client opens with GET."""

    def route(self, message: Any, stream: Any, session: Any) -> None:
        streams = session.listening[-1:] if isinstance(message, Ask) else [stream]
        for each in streams:
            each.add(message)


def test_requests_on_the_stream_of_get_are_answered() -> None:
    async def check() -> Verdict:
        async with serve(__name__, AsksOnGetStream, "http") as target:
            examined = await examine(target, "http", LEGACY[-1])
        assert examined.findings == {}
        verdicts = {it.requirement.id: it.outcome.verdict for it in examined.validation.results}
        return verdicts["elicitation-shape"]

    assert asyncio.run(check()) is Verdict.PASS


@pytest.mark.parametrize(
    ("server", "transport"),
    [
        (Server, "stdio"),
        (Server, "http"),
        (Server, "sse"),
        (EventStreams, "http"),
        (RefusesOriginsAsErrors, "http"),
        (PolledStreams, "http"),
        (LongTools, "http"),
        (UnknownNotificationsRefused, "http"),
    ],
)
def test_the_base_server_has_the_full_score(server: type[Server], transport: str) -> None:
    revisions = {"stdio": REVISIONS, "http": REVISIONS[1:], "sse": REVISIONS[:1]}[transport]
    row = Correct("base", (), revisions)

    async def check(revision: str) -> list[str]:
        async with serve(server.__module__, server, transport) as target:
            examined = await examine(target, transport, revision)
        assert examined.score is None or examined.score.coverage >= 0.95
        return [f"{revision} {each}" for each in find_false_findings(row, examined)]

    async def check_all() -> list[list[str]]:
        return await asyncio.gather(*(check(revision) for revision in revisions))

    assert [each for found in asyncio.run(check_all()) for each in found] == []


def check_stdio(rows: list[tuple[Correct, str]]) -> dict[str, list[str]]:
    async def check() -> dict[str, list[str]]:
        checks = [check_correct(row, "stdio", revision) for row, revision in rows]
        results = await asyncio.gather(*checks)
        return {
            f"{row.name} {revision}": problems
            for (row, revision), (_, problems) in zip(rows, results, strict=True)
            if problems
        }

    return asyncio.run(check())


def make_row(name: str, revision: str) -> Correct:
    """Return the row of an unusual server, which has no finding unless some are given."""
    findings = TRUE_FINDINGS.get(name, {})
    return Correct(name, command_of(name), (revision,), 90 if findings else 100, findings)


@pytest.mark.parametrize("revision", [LEGACY[-1], MODERN])
def test_what_is_unusual_and_allowed_is_no_finding(revision: str) -> None:
    rows = [
        (make_row(server.__name__, revision), revision)
        for server in UNUSUAL
        if revision in server.revisions
    ]
    assert len(rows) >= 10
    assert check_stdio(rows) == {}


def test_a_server_that_declares_almost_nothing_has_the_full_score() -> None:
    assert check_stdio([(MINIMAL, revision) for revision in MINIMAL.revisions]) == {}


def test_a_generated_server_has_the_full_score() -> None:
    assert check_stdio([(EXAMPLE, LEGACY[-1]), (EXAMPLE, MODERN)]) == {}


@pytest.mark.parametrize("server", TYPESCRIPT_SDKS, ids=lambda server: server.name)
def test_findings_about_an_sdk_are_those_confirmed_by_hand(server: Correct) -> None:
    if not server.is_installed:
        pytest.skip(f"{server.name} is not installed (make peers)")
    assert check_stdio([(server, server.revisions[0])]) == {}
