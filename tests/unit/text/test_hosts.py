"""Tests of the host that a spelling means, and of addresses that are not public."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from mcpgen.text.hosts import (
    canonical_host,
    is_confirmed_origin,
    is_private,
    is_public_address,
    is_unusual_spelling,
    origin_of,
)

LOOPBACK = (
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F.0.0.1", "017700000001",
    "0177.0.0.01", "0x7f.1", "127.0.0.1.", "%31%32%37.0.0.1", "%2531%2532%2537.0.0.1",
    "127\u30020\u30020\u30021", "127\uff0e0\uff0e0\uff0e1", "127\uff610\uff610\uff611",
    "\uff11\uff12\uff17.0.0.1", "\u2460\u2461\u2466.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK)
def test_every_spelling_of_an_address_is_normalised(host: str) -> None:
    assert canonical_host(host) == "127.0.0.1"
    assert is_private(host)
    assert is_unusual_spelling(host) == (host.removesuffix(".") != "127.0.0.1")


@pytest.mark.parametrize(
    "host",
    [
        "", ".", "localhost", "LOCALHOST.", "api.localhost", "api.localhost.", "127.0.0.08",
        "4294967296", "1.2.3.4.5", "256.1.1.1",
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "169.254.169.254",
        "168.63.129.16", "172.16.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
        "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "[::1]", "fe80::1", "fe80::1%eth0", "[fe80::1%25eth0]", "fc00::1",
        "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "3fff::1", "5f00::1", "100::1",
        "::ffff:127.0.0.1", "::ffff:0:10.0.0.1", "::10.0.0.1", "64:ff9b::10.0.0.1",
        "64:ff9b:1::8.8.8.8", "2002:7f00:1::", "2002:c0a8:101::1",
        "2001:0:808:808:0:0:80ff:fffe",  # Teredo: the client is 127.0.0.1
        "2001:0:a00:1::f7f7:f7f7",  # Teredo: the server is 10.0.0.1
    ],
)  # fmt: skip
def test_private_addresses_are_recognised(host: str) -> None:
    assert is_private(host)


@pytest.mark.parametrize(
    "host",
    [
        "api.example.com", "localhost.example.com", "8.8.8.8", "0x08080808", "2606:4700::1111",
        "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "7f000001.example.com", "x1.2",
        "2001:0:808:808::f7f7:f7f7", "a" * 5000,
    ],
)  # fmt: skip
def test_public_hosts_and_names_are_not_private(host: str) -> None:
    assert is_private(host) == (host == "x1.2")  # no top-level domain is a number


@pytest.mark.parametrize(
    ("address", "is_public"),
    [("8.8.8.8", True), ("127.0.0.1", False), ("2606:4700::1", True), ("::ffff:10.0.0.1", False)],
)
def test_is_public_address_checks_a_resolved_address(address: str, is_public: bool) -> None:
    assert is_public_address(ip_address(address)) is is_public


def test_common_spellings_of_ipv6_addresses_are_accepted() -> None:
    for host in ("::1", "0:0:0:0:0:0:0:1", "[2606:4700:0::1111]", "api.example.com"):
        assert not is_unusual_spelling(host)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.example.com:443/v1?x", "https://api.example.com"),
        ("http://api.example.com.:80", "http://api.example.com"),
        ("https://api.example.com:8443/", "https://api.example.com:8443"),
        ("https://user:pw@api.example.com/", "https://api.example.com"),
        ("http://0x7f.1/", "http://127.0.0.1"),
        ("https://[2606:4700:0::1111]/", "https://[2606:4700::1111]"),
        ("https://api.example.com:99999/", ""),
        ("/token", ""),
        ("", ""),
    ],
)
def test_origin_of_returns_the_origin_of_a_url(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_a_placeholder_of_a_confirmed_origin_matches_one_label() -> None:
    confirmed = ("https://{region}.Example.com:8443", "https://files-{n}.example.org")
    for origin in ("https://eu.example.com:8443", "https://files-7.example.org"):
        assert is_confirmed_origin(origin, confirmed)
    for origin in (
        "https://eu.example.com", "https://a.b.example.com:8443", "https://.example.com:8443",
        "http://eu.example.com:8443", "https://eu.example.com:8443.evil.example", "",
        "https://evil.example/#.example.com:8443", "https://filesx7.example.org",
    ):  # fmt: skip
        assert not is_confirmed_origin(origin, confirmed)
