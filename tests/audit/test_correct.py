"""Tests that an audit reports no false finding for a correct server.

`make audit-selftest` examines all servers on SDKs.
"""

from __future__ import annotations

import asyncio

import pytest

from mcpgen.factory.robustness.run import Robustness
from mcpgen.factory.validate.hosting import host
from tests.audit.broken.calls import WithoutReadOnlyTools
from tests.audit.check import list_shown, run
from tests.audit.sdks import TRUE_FINDINGS
from tests.validate.correct.table import EXAMPLE, MINIMAL, PYTHON_SDKS, TYPESCRIPT_SDKS, Correct
from tests.validate.examine import serve
from tests.validate.servers.features import Server

pytestmark = pytest.mark.slow

NAMES = {"mcp 2.3.0", "@modelcontextprotocol/server 2.3.1"}
SDKS = [it for it in (*PYTHON_SDKS, *TYPESCRIPT_SDKS) if it.name in NAMES and it.is_installed]


def check_complete(result: Robustness) -> None:
    """Check that a run found nothing and exercised all applicable requirements."""
    assert list_shown(result) == []
    assert result.trouble == ""
    skipped = [(row.experiment.id, row.skipped) for row in result.rows if row.is_applicable]
    assert [each for each in skipped if each[1]] == []
    assert result.exercised == result.applicable > 0


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_base_server_has_no_finding(transport: str) -> None:
    async def check() -> Robustness:
        async with serve(Server.__module__, Server, transport) as target:
            return await run(target, transport)

    result = asyncio.run(check())
    check_complete(result)
    assert (transport in result.memory) == (transport == "stdio")


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_generated_server_has_no_finding(transport: str) -> None:
    async def check() -> Robustness:
        async with host(EXAMPLE.make_target(), (transport,)) as targets:
            return await run(targets[transport], transport)

    check_complete(asyncio.run(check()))


def test_a_server_without_tools_has_no_finding() -> None:
    result = asyncio.run(run(MINIMAL.make_target(), "stdio"))
    check_complete(result)
    assert "arguments-wrong-types" not in {
        row.experiment.id for row in result.rows if row.is_applicable
    }


def test_tools_that_may_write_are_not_called_and_count_as_a_gap() -> None:
    async def check(*, allow_writes: bool) -> Robustness:
        server = WithoutReadOnlyTools
        async with serve(server.__module__, server, "stdio") as target:
            return await run(target, "stdio", intensity="low", allow_writes=allow_writes)

    careful = asyncio.run(check(allow_writes=False))
    assert careful.tools == {"stdio": []}
    assert careful.untouched_tools["add"] == "not marked as read-only"
    assert careful.exercised < careful.applicable
    bold = asyncio.run(check(allow_writes=True))
    assert bold.tools["stdio"] == ["add", "count"]
    assert bold.exercised > careful.exercised


def test_a_seed_repeats_the_same_messages() -> None:
    async def list_sent() -> list[tuple[str, int]]:
        async with serve(Server.__module__, Server, "stdio") as target:
            result = await run(target, "stdio", intensity="low")
        return [(row.experiment.id, row.messages) for row in result.rows]

    assert asyncio.run(list_sent()) == asyncio.run(list_sent())


@pytest.mark.parametrize("row", SDKS, ids=lambda row: row.name)
def test_findings_in_servers_on_sdks_are_the_confirmed_ones(row: Correct) -> None:
    result = asyncio.run(run(row.make_target(), "stdio"))
    found = {(it.fault.id, it.experiment) for it in result.findings}
    assert found == TRUE_FINDINGS[row.name].keys(), list_shown(result)
