"""Tests of the Host and Origin checks, which reject DNS rebinding and pages of other sites."""

from __future__ import annotations

import pytest

from mcpgen.runtime.transports.http.host_check import HostCheck, is_loopback
from tests.support.http_server import OMITTED, Served, request, run

HOST = "127.0.0.1:8000"

FOREIGN = [
    pytest.param({"host": "evil.example"}, 421, id="foreign host"),
    pytest.param({"host": "127.0.0.1.nip.io:8000"}, 421, id="wildcard DNS"),
    pytest.param({"host": "localhost.:8000"}, 421, id="trailing dot"),
    pytest.param({"host": ""}, 421, id="empty host"),
    pytest.param({"host": OMITTED}, 421, id="no host"),
    pytest.param([("host", HOST), ("host", "evil.example")], 421, id="two hosts"),
    pytest.param({"host": "[::ffff:127.0.0.1]:8000"}, 421, id="mapped IPv6"),
    pytest.param({"host": "::1"}, 421, id="IPv6 without brackets"),
    pytest.param({"host": "user@localhost:8000"}, 421, id="user information"),
    pytest.param({"host": "2130706433"}, 421, id="address as a number"),
    pytest.param({"origin": "http://evil.example"}, 403, id="foreign origin"),
    pytest.param({"origin": "null"}, 403, id="opaque origin"),
    pytest.param({"origin": "http://127.0.0.1.evil.example:8000"}, 403, id="look-alike origin"),
    pytest.param({"origin": "http://127.0.0.1:9000"}, 403, id="origin on another port"),
    pytest.param({"origin": "http://127.0.0.1:8000/"}, 403, id="origin with a path"),
    pytest.param(
        [("origin", "http://127.0.0.1:8000"), ("origin", "http://evil.example")],
        403,
        id="two origins",
    ),
]
OWN = [
    pytest.param({}, id="no origin"),
    pytest.param({"origin": "http://127.0.0.1:8000"}, id="same origin"),
    pytest.param({"origin": "http://localhost:8000"}, id="another name of this machine"),
    pytest.param({"host": "LOCALHOST:8000"}, id="upper case"),
    pytest.param({"host": "[::1]:8000", "origin": "http://[::1]:8000"}, id="IPv6"),
    pytest.param({"host": "localhost:9000"}, id="a forwarded port"),
]


@pytest.mark.requirement("L044", "L045", "N035")
@pytest.mark.parametrize(("headers", "status"), FOREIGN)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_foreign_host_or_origin_is_rejected_before_anything_else(
    method: str, headers: dict[str, str], status: int
) -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send(method, b"not even JSON", headers=headers).complete()
        assert response.status == status
        assert response.json.keys() == {"jsonrpc", "error"}

    run(scenario)


@pytest.mark.requirement("L044", "N035")
@pytest.mark.parametrize("headers", OWN)
def test_the_own_host_and_origin_are_accepted(headers: dict[str, str]) -> None:
    async def scenario(served: Served) -> None:
        assert (await served.client.post_modern("tools/list", headers=headers)).status == 200

    run(scenario)


@pytest.mark.requirement("L044")
def test_the_2024_sse_endpoints_check_the_origin() -> None:
    async def scenario(served: Served) -> None:
        for method, path in (("GET", "/sse"), ("POST", "/messages")):
            response = await served.client.send(
                method, request("ping"), path=path, headers={"origin": "http://evil.example"}
            ).complete()
            assert response.status == 403

    run(scenario, with_sse=True)


def test_allowed_hosts_and_origins_are_accepted() -> None:
    check = HostCheck(
        allowed_hosts=["Mcp.example"],
        allowed_origins=["https://app.example", "http://localhost:1/"],
    )
    assert check.find_rejection(b"mcp.example", None) is None
    assert check.find_rejection(b"mcp.example", b"https://mcp.example") is None
    assert check.find_rejection(b"localhost:8000", b"https://app.example") is None
    assert check.find_rejection(b"localhost:8000", b"http://localhost:1") is None
    refusal = check.find_rejection(b"localhost:8000", b"https://app.example.evil.example")
    assert refusal is not None
    assert refusal.status == 403


def test_a_wildcard_bind_accepts_any_ip_address_but_no_host_name() -> None:
    check = HostCheck("0.0.0.0", env_prefix="PETS_")
    assert check.find_rejection(b"192.168.1.5:8000", None) is None
    assert check.find_rejection(b"[fe80::1]:8000", None) is None
    assert check.find_rejection(b"localhost:8000", None) is None
    for host in (b"rebound.example:8000", b"127.1", b"192.168.1.5.nip.io", b"[192.168.1.5]"):
        refusal = check.find_rejection(host, None)
        assert refusal is not None
        assert "PETS_ALLOWED_HOSTS" in refusal.message
    assert check.find_rejection(b"192.168.1.5:8000", b"http://192.168.1.6:8000") is not None


def test_a_single_address_bind_accepts_only_that_address() -> None:
    check = HostCheck("192.168.1.5")
    assert check.find_rejection(b"192.168.1.5:8000", None) is None
    assert check.find_rejection(b"localhost:8000", None) is not None


@pytest.mark.requirement("L046", "N036")
def test_is_loopback_is_true_only_for_loopback_hosts() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.0.0.9", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.5", "", "example.org")))
