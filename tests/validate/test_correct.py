"""The validator has no false finding about a correct server.

`make validate-selftest` examines those on the Python SDKs too.
"""

from __future__ import annotations

import asyncio
import inspect

import pytest

from tests.validate.check import check_correct, find_false_findings
from tests.validate.correct import unusual
from tests.validate.correct.table import EXAMPLE, MINIMAL, TYPESCRIPT_SDKS, Correct
from tests.validate.correct.table import unusual as command_of
from tests.validate.examine import examine, serve
from tests.validate.servers.core import LEGACY, MODERN
from tests.validate.servers.features import Server
from tests.validate.servers.http import HttpServer

pytestmark = pytest.mark.slow

REVISIONS = (*LEGACY, MODERN)
UNUSUAL = [
    server
    for server in vars(unusual).values()
    if inspect.isclass(server) and server.__module__ == unusual.__name__
    if issubclass(server, Server)
]


class EventStreams(HttpServer):
    """Answers every request of a session with an event stream."""

    prefers_events = True


@pytest.mark.parametrize(
    ("server", "transport"),
    [(Server, "stdio"), (Server, "http"), (Server, "sse"), (EventStreams, "http")],
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


@pytest.mark.parametrize("revision", [LEGACY[-1], MODERN])
def test_what_is_unusual_and_allowed_is_no_finding(revision: str) -> None:
    rows = [
        (Correct(server.__name__, command_of(server.__name__), (revision,)), revision)
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
