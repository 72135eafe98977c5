"""Tests of overrides: restricted ports, roles with an end, and the operator's project."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream

from cloud_mcp.handlers.firewalls import is_wide, open_ports

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {
    "CLOUD_ACCESS_TOKEN": "token-of-the-mock",
    "CLOUD_PROJECT": "harbour-prod",
    "CLOUD_BILLING_ACCOUNT": "bil-4k2m9x",
}
RULE = {"direction": "in", "action": "allow", "protocol": "tcp", "peers": ["0.0.0.0/0"]}


def call(
    tool: str, arguments: dict[str, Any], *, agrees: bool = True
) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory, with a user who answers questions; return the result, and the mock."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    answer = {"action": "accept", "content": {}} if agrees else {"action": "decline"}

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("cloud_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: answer},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


@pytest.mark.parametrize(
    ("changes", "is_sent"),
    [
        ({"ports": "80,443"}, True),
        ({"ports": "22"}, False),
        ({"ports": "80,3000-4000"}, False),
        ({}, False),  # all ports
        ({"ports": "22", "peers": ["203.0.113.0/24"]}, True),
        ({"ports": "22", "peers": ["203.0.113.0/24", "0.0.0.0/1"]}, False),
        ({"ports": "22", "direction": "out"}, True),
        ({"ports": "22", "action": "deny"}, True),
        ({"protocol": "icmp"}, True),
    ],
)
def test_the_internet_reaches_no_port_for_few(changes: dict[str, Any], *, is_sent: bool) -> None:
    rule = {**RULE, **changes}
    calls = {
        "add_firewall_rule": {"firewall_id": "fwl-4k2m9x", **rule},
        "replace_firewall_rules": {"firewall_id": "fwl-4k2m9x", "rules": [rule]},
        "create_firewall": {"name": "web", "rules": [rule]},
    }
    for tool, arguments in calls.items():
        result, upstream = call(tool, arguments)
        assert bool(upstream.requests) == is_sent, tool
        if not is_sent:
            assert result["isError"] is True
            assert "in the console" in result["content"][0]["text"]


def test_what_is_no_prefix_is_left_to_the_api() -> None:
    assert not is_wide("0000000/0")
    assert list(open_ports("443")) == []


def granted(**arguments: Any) -> tuple[dict[str, Any], MockUpstream]:
    return call("grant_role", {"member": "user:anna@example.com", **arguments})


def test_a_role_ends_after_thirty_days() -> None:
    _, upstream = granted(role="compute.viewer")
    until = datetime.fromisoformat(json.loads(upstream.requests[0].body)["until"])
    assert timedelta(days=29) < until - datetime.now(UTC) < timedelta(days=31)


def test_a_role_ends_when_it_should() -> None:
    _, upstream = granted(role="compute.viewer", until="2999-01-01T00:00:00Z")
    assert json.loads(upstream.requests[0].body)["until"] == "2999-01-01T00:00:00Z"


def test_a_role_that_gives_roles_is_not_given() -> None:
    result, upstream = granted(role="iam.admin")
    assert result["isError"] is True
    assert not upstream.requests


def test_the_project_is_the_operators() -> None:
    _, upstream = call("list_servers", {})
    assert "/projects/harbour-prod/compute/servers" in upstream.requests[0].url


def test_nothing_is_deleted_without_consent() -> None:
    result, upstream = call("delete_server", {"server_id": "srv-4k2m9x"}, agrees=False)
    assert not upstream.requests
    assert not result.get("structuredContent")


def test_a_database_is_deleted_with_a_last_backup() -> None:
    _, upstream = call("delete_database_cluster", {"cluster_id": "dbc-4k2m9x"})
    assert "final_backup=true" in str(upstream.requests[0])


@pytest.mark.parametrize("tool", ["read_secret", "get_kubeconfig", "pay_invoice"])
def test_what_opens_a_door_or_pays_is_no_tool(tool: str) -> None:
    with pytest.raises(Exception, match=tool):
        call(tool, {})
