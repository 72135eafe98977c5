"""Tests of requests through a proxy: which ones, what the proxy receives, and its failures."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from pathlib import Path

import pytest

from mcpgen.contract.limits import Limits
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.errors import ConnectError
from mcpgen.runtime.upstream.http.connecting import Authority
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.http.proxies import Proxies, Proxy, read_proxies
from mcpgen.runtime.upstream.http.sender import HttpSender
from tests.runtime.upstream.http.conftest import Run
from tests.support.proxy import CONNECTED, RecordingProxy, listening, serving_proxy

CONTRACT = {"name": "shop", "env_prefix": "SHOP_", "environment": []}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
PASSWORD = "p@ss:canary"
CREDENTIALS = b64encode(b"me:p@ss:canary")
CONFIRM = "SHOP_BASE_URL or SHOP_ALLOW_PRIVATE=1"


class Api:
    """An API that records the heads of requests."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(OK)


def make_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


async def send_through(
    url: str,
    *,
    certificate: Path | None = None,
    proxy_tls: ssl.SSLContext | None = None,
    answer: bytes | None = None,
    silent: bool = False,
    times: int = 1,
    private_addresses_setting: str = "",
    limits: Limits | None = None,
    userinfo: str = "",
) -> tuple[list[HttpResponse], Api, RecordingProxy]:
    """Send a request through a recording proxy to a recording API."""
    api = Api()
    tls = make_tls(certificate) if certificate and url.startswith("https:") else None
    async with (
        listening(api.serve, tls) as port,
        serving_proxy(port, answer=answer, tls=proxy_tls) as proxy,
    ):
        proxy.silent = silent
        scheme = "https" if proxy_tls else "http"
        environ = {"SHOP_PROXY": f"{scheme}://{userinfo}localhost:{proxy.port}"}
        sender = HttpSender(
            "shop-mcp",
            authority=Authority("SHOP_CA_FILE", str(certificate or "")),
            limits=limits or Limits(),
            proxies=read_proxies(CONTRACT, environ),
        )
        request = HttpRequest("GET", url, private_addresses_setting=private_addresses_setting)
        try:
            responses = [await sender.send(request) for _ in range(times)]
        finally:
            await sender.aclose()
        return responses, api, proxy


def test_https_goes_through_one_tunnel_whose_name_the_proxy_resolves(
    run: Run, certificate: Path
) -> None:
    responses, api, proxy = run(
        send_through(
            "https://api.example/pets",
            certificate=certificate,
            times=2,
            userinfo="me:p%40ss%3Acanary@",
            private_addresses_setting=CONFIRM,
        )
    )
    assert [response.body for response in responses] == [b"{}", b"{}"]
    (head,) = proxy.heads  # the connection is kept for the second request
    assert head.startswith(b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n")
    assert b"Proxy-Authorization: Basic " + CREDENTIALS in head
    assert len(api.heads) == 2
    assert api.heads[0].startswith(b"GET /pets HTTP/1.1\r\n")
    assert b"Proxy-" not in api.heads[0]


def test_http_is_sent_in_absolute_form(run: Run) -> None:
    responses, _, proxy = run(
        send_through("http://api.example:8080/pets?a=b", userinfo="me:p%40ss%3Acanary@")
    )
    assert responses[0].body == b"{}"
    (head,) = proxy.heads
    assert head.startswith(b"GET http://api.example:8080/pets?a=b HTTP/1.1\r\n")
    assert b"\r\nHost: api.example:8080\r\n" in head
    assert b"Proxy-Authorization: Basic " + CREDENTIALS in head


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_may_use_tls_itself(run: Run, certificate: Path, scheme: str) -> None:
    responses, api, proxy = run(
        send_through(
            f"{scheme}://api.example/", certificate=certificate, proxy_tls=make_tls(certificate)
        )
    )
    assert responses[0].body == b"{}"
    assert len(proxy.heads) == len(api.heads) == 1


FAILURES = {
    "wrong credentials": (
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        "does not accept the credentials in it",
        False,
    ),
    "refused": (b"HTTP/1.1 403 Forbidden\r\n\r\n", "answered with status 403", False),
    "unreachable": (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "answered with status 502", True),
    "garbage": (b"\x00\x01SSH-2.0\r\n\r\n", "not valid HTTP", False),
    "oversized": (
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
        "not valid HTTP",
        False,
    ),
    "interim only": (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "not valid HTTP", False),
    "early data": (CONNECTED + b"hello", "sent data before the API did", False),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_proxy_that_refuses_is_named_by_its_setting(
    run: Run, certificate: Path, failure: str
) -> None:
    answer, text, is_transient = FAILURES[failure]
    sending = send_through(
        "https://api.example/",
        certificate=certificate,
        answer=answer,
        userinfo="me:p%40ss%3Acanary@",
    )
    with pytest.raises(ConnectError, match=text) as refused:
        run(sending)
    message = str(refused.value)
    assert "the proxy of SHOP_PROXY" in message
    assert "canary" not in message
    assert "localhost" not in message
    assert refused.value.is_transient is is_transient
    assert not refused.value.request_sent


def test_a_proxy_without_an_answer_is_given_up(run: Run, certificate: Path) -> None:
    limits = Limits({"connect_timeout_seconds": 0.3})
    sending = send_through(
        "https://api.example/", certificate=certificate, silent=True, limits=limits
    )
    with pytest.raises(ConnectError, match=r"did not connect within 0\.3 seconds"):
        run(sending)


def test_a_proxy_that_closes_its_connection_is_reported(run: Run) -> None:
    async def attempt() -> None:
        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with listening(hang_up) as port:
            proxies = read_proxies(CONTRACT, {"SHOP_PROXY": f"localhost:{port}"})
            sender = HttpSender("x", proxies=proxies)
            with pytest.raises(ConnectError, match=r"closed the connection|cannot be reached"):
                await sender.send(HttpRequest("GET", "https://api.example/"))
            await sender.aclose()

    run(attempt())


def test_a_proxy_that_cannot_be_reached_is_reported(run: Run) -> None:
    async def attempt() -> None:
        proxies = read_proxies(CONTRACT, {"SHOP_PROXY": "http://127.0.0.1:9"})
        with pytest.raises(ConnectError, match="the proxy of SHOP_PROXY cannot be reached"):
            await HttpSender("x", proxies=proxies).send(HttpRequest("GET", "https://api.example/"))

    run(attempt())


def test_an_http_request_with_wrong_proxy_credentials_is_no_answer_of_the_api(run: Run) -> None:
    answer = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(ConnectError, match="status 407"):
        run(send_through("http://api.example/", answer=answer))


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["10.0.0.7", "169.254.169.254", "[fd00::1]", "0x0a000007"])
def test_private_addresses_in_a_document_are_refused_with_a_proxy_too(
    run: Run, scheme: str, host: str
) -> None:
    with pytest.raises(ConnectError, match="private address") as refused:
        run(send_through(f"{scheme}://{host}/", private_addresses_setting=CONFIRM))
    assert CONFIRM in str(refused.value)


@pytest.mark.parametrize(
    ("no_proxy", "host", "port", "is_direct"),
    [
        ("", "api.example", 443, False),
        ("*", "api.example", 443, True),
        ("api.example", "api.example", 443, True),
        ("example", "api.example", 443, True),
        (".example", "api.example", 443, True),
        ("*.example", "api.example", 443, True),
        ("pi.example", "api.example", 443, False),
        ("API.Example", "api.example", 443, True),
        ("api.example:443", "api.example", 443, True),
        ("api.example:8443", "api.example", 443, False),
        ("other.example, api.example", "api.example", 443, True),
        ("other.example api.example", "api.example", 443, True),
        ("192.0.2.7", "192.0.2.7", 443, True),
        ("192.0.2.0/24", "192.0.2.7", 443, True),
        ("192.0.2.0/24", "192.0.3.7", 443, False),
        ("192.0.2.0/24", "api.example", 443, False),
        ("2001:db8::/32", "2001:db8::7", 443, True),
        ("[2001:db8::7]:443", "2001:db8::7", 443, True),
        ("[2001:db8::7]:80", "2001:db8::7", 443, False),
        ("192.0.2.7", "0xc0000207", 443, True),
        (",, ,", "api.example", 443, False),
        ("", "localhost", 443, True),
        ("", "shop.localhost", 443, True),
        ("", "127.0.0.2", 443, True),
        ("", "::1", 443, True),
    ],
)
def test_no_proxy_lists_hosts_without_a_proxy(
    no_proxy: str, host: str, port: int, is_direct: bool
) -> None:
    proxy = Proxy.parse("http://proxy.example:3128", "HTTPS_PROXY")
    proxies = Proxies(proxy, None, no_proxy)
    assert (proxies.find(host, port, is_secure=True) is None) is is_direct


def test_the_servers_own_proxy_comes_before_the_common_ones() -> None:
    environ = {
        "SHOP_PROXY": "http://own.example:1",
        "HTTPS_PROXY": "http://common.example:2",
        "no_proxy": "direct.example",
    }
    proxies = read_proxies(CONTRACT, environ)
    assert proxies is not None
    for is_secure in (True, False):
        found = proxies.find("api.example", 443, is_secure=is_secure)
        assert found is not None
        assert (found.host, found.port, found.setting) == ("own.example", 1, "SHOP_PROXY")
    assert proxies.find("direct.example", 443, is_secure=True) is None


def test_each_scheme_has_its_common_proxy() -> None:
    environ = {"https_proxy": "lower.example:8080", "HTTPS_PROXY": "http://upper.example:1"}
    proxies = read_proxies(CONTRACT, environ)
    assert proxies is not None
    found = proxies.find("api.example", 443, is_secure=True)
    assert found is not None
    assert (found.host, found.port, found.setting) == ("lower.example", 8080, "https_proxy")
    assert proxies.find("api.example", 80, is_secure=False) is None


def test_without_settings_there_is_no_proxy() -> None:
    assert read_proxies(CONTRACT, {"NO_PROXY": "*", "HTTPS_PROXY": " ", "SHOP_PROXY": ""}) is None


@pytest.mark.parametrize("variable", ["SHOP_PROXY", "HTTPS_PROXY", "http_proxy"])
@pytest.mark.parametrize("url", ["socks5://u:canary@p.example", "http://", "http://p/path canary"])
def test_an_invalid_proxy_is_named_without_its_url(variable: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match=f"invalid {variable}: expected") as invalid:
        read_proxies(CONTRACT, {variable: url})
    assert "canary" not in str(invalid.value)


def test_credentials_of_a_proxy_are_in_no_representation() -> None:
    proxies = read_proxies(CONTRACT, {"HTTPS_PROXY": "http://me:p%40ss%3Acanary@p.example:3128"})
    assert proxies is not None
    proxy = proxies.find("api.example", 443, is_secure=True)
    assert "canary" not in repr(proxy)
    assert CREDENTIALS.decode() not in repr(proxy)
    assert PASSWORD in proxies.secrets
