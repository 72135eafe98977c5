"""Tests of overrides: visits of a valid length, and requests to the host of the tenant."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {
    "TENANTS_API_TOKEN": "token-of-the-mock",
    "TENANTS_SERVER_TENANT": "seeblick",
    "TENANTS_COMPANY": "seeblick",
}


HOST = "https://seeblick.eu.fieldnote.example/v3"
EXPORTS = "https://exports.{}.fieldnote.example/v3"
ACCOUNTS = "https://accounts.fieldnote.example/v1"


def call(
    tool: str, arguments: dict[str, Any], host: str = HOST, **settings: str
) -> tuple[dict[str, Any], list[str], list[bytes]]:
    """Call a tool in memory; return its result, and the URLs and bodies of its requests.

    The mock API is at `host` alone.
    """
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()), base_url=host)

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("tenants_mcp")
        environ = {**SETTINGS, **settings}
        async with Client.in_memory(package, environ, send=upstream.send) as client:
            return await client.call_tool(tool, arguments)

    result = asyncio.run(run())
    return result, [it.url for it in upstream.requests], [it.body for it in upstream.requests]


def plan(starts_at: str, ends_at: str) -> tuple[dict[str, Any], list[str]]:
    visit = {"customer_id": "cu_88", "starts_at": starts_at, "ends_at": ends_at}
    result, urls, _ = call("plan_visit", visit)
    return result, urls


@pytest.mark.parametrize(
    "ends_at",
    ["2028-03-09T09:00:01+01:00", "2028-03-09T09:30:00Z", "2028-03-09T21:00:00+01:00"],
)
def test_a_visit_is_planned(ends_at: str) -> None:
    result, urls = plan("2028-03-09T09:00:00+01:00", ends_at)
    assert not result.get("isError")
    assert len(urls) == 1


@pytest.mark.parametrize(
    ("ends_at", "hours"),
    [
        ("2028-03-09T09:00:00+01:00", "0 hours"),
        ("2028-03-09T09:30:00+02:00", "-0.5 hours"),
        ("2028-03-09T22:00:00+01:00", "13 hours"),
    ],
)
def test_a_visit_that_no_calendar_shows_is_refused(ends_at: str, hours: str) -> None:
    result, urls = plan("2028-03-09T09:00:00+01:00", ends_at)
    assert result["isError"] is True
    assert hours in result["content"][0]["text"]
    assert not urls


@pytest.mark.parametrize(
    ("tool", "arguments", "host"),
    [
        ("get_customer", {"customer_id": "cu_88"}, "https://seeblick.{}.fieldnote.example/v3"),
        ("get_export", {"export_id": "ex_77"}, EXPORTS),
        ("get_company", {}, ACCOUNTS),
    ],
)
@pytest.mark.parametrize("region", ["eu", "us", "ap"])
def test_requests_go_to_the_hosts_of_the_tenant(
    tool: str, arguments: dict[str, Any], host: str, region: str
) -> None:
    expected = host.format(region)
    result, [url], _ = call(tool, arguments, expected, TENANTS_SERVER_REGION=region)
    assert not result.get("isError")
    assert url.startswith(f"{expected}/")


def test_an_export_is_of_the_tenant_of_the_server() -> None:
    _, _, bodies = call("create_export", {"kind": "customers"}, EXPORTS.format("eu"))
    assert json.loads(bodies[0]) == {"tenant": "seeblick", "kind": "customers"}
