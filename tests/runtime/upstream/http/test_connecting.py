"""Tests of opening and keeping connections: names, pinned addresses, TLS, reuse and limits."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpgen.contract.limits import Limits
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.errors import (
    ConnectError,
    DisconnectedError,
    MalformedResponseError,
    UpstreamError,
)
from mcpgen.runtime.upstream.http.connecting import MAX_LOOKUPS, Authority, Resolver
from mcpgen.runtime.upstream.http.connection import Connection
from mcpgen.runtime.upstream.http.exchange import exchange
from mcpgen.runtime.upstream.http.messages import HttpRequest
from mcpgen.runtime.upstream.http.pool import MAX_IDLE_SECONDS, parse_idle_seconds
from mcpgen.runtime.upstream.http.sender import HttpSender
from tests.runtime.upstream.http.conftest import Run

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
STALE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale"
SETTINGS = "X_BASE_URL, or X_ALLOW_PRIVATE=1"


class Api:
    """An API that answers requests with its answers in turn; the last one is repeated."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = answers
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.arrived = asyncio.Semaphore(0)  # released by each request
        self.closed = asyncio.Event()  # set when a connection has ended

    def url(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                self.arrived.release()
                writer.write(self.answers[min(len(self.requests), len(self.answers)) - 1])
        writer.close()
        self.closed.set()


@asynccontextmanager
async def serving(*answers: bytes, **options: Any) -> Any:
    """Run an API; yield it and a sender that is closed at the end."""
    api = Api(*answers)
    sender = HttpSender("test", **options)
    async with await asyncio.start_server(api.serve, "127.0.0.1", 0) as listener:
        api.port = listener.sockets[0].getsockname()[1]
        try:
            yield api, sender
        finally:
            await sender.aclose()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Return the addresses by host name, for tests to fill in; other hosts do not exist."""
    known: dict[str, list[str]] = {}

    def look_up(host: str, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            (socket.AF_INET6 if ":" in it else socket.AF_INET, socket.SOCK_STREAM, 6, "", (it, 0))
            for it in known[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


# Names and addresses


def test_a_host_name_is_resolved_once_and_its_address_pinned(run: Run, names: Any) -> None:
    async def twice() -> None:
        async with serving(OK) as (api, sender):
            names["api.example"] = ["127.0.0.1"]
            await sender.send(HttpRequest("GET", api.url("api.example")))
            names.clear()
            await sender.send(HttpRequest("GET", api.url("API.example")))
            assert api.connections == 1
            hosts = [request.split(b"\r\n")[1].split(b":")[1] for request in api.requests]
            assert hosts == [b" api.example", b" API.example"]

    run(twice())


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1", "::1"], ["fe80::1%1"]])
def test_a_private_address_is_rejected_if_only_public_ones_are_allowed(
    run: Run, names: Any, addresses: list[str]
) -> None:
    async def attempt(host: str) -> None:
        async with serving(OK) as (api, sender):
            request = HttpRequest("POST", api.url(host), private_addresses_setting=SETTINGS)
            with pytest.raises(ConnectError) as refused:
                await sender.send(request)
            assert SETTINGS in str(refused.value)
            assert host in str(refused.value)
            assert addresses[0] not in str(refused.value).replace(host, "")
            assert not refused.value.is_transient
            assert not refused.value.request_sent
            assert api.connections == 0

    names["innocent.example"] = addresses
    run(attempt("innocent.example"))
    run(attempt("127.0.0.1"))


def test_a_connection_to_a_private_address_is_not_shared_with_a_restricted_request(
    run: Run,
) -> None:
    async def attempt() -> None:
        async with serving(OK) as (api, sender):
            await sender.send(HttpRequest("GET", api.url()))
            with pytest.raises(ConnectError):
                await sender.send(HttpRequest("GET", api.url(), private_addresses_setting=SETTINGS))

    run(attempt())


def test_private_addresses_of_a_host_name_are_skipped(
    run: Run, names: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    async def note(address: str, port: int) -> socket.socket:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("mcpgen.runtime.upstream.http.connecting._connect_to", note)
    names["mixed.example"] = ["10.0.0.1", "8.8.8.8", "8.8.4.4", "2001:4860:4860::8888", "::1"]

    async def attempt() -> None:
        async with serving(OK) as (_, sender):
            url = "http://mixed.example/"
            with pytest.raises(ConnectError, match="refused"):
                await sender.send(HttpRequest("GET", url, private_addresses_setting=SETTINGS))

    run(attempt())
    assert tried == ["8.8.8.8", "2001:4860:4860::8888", "8.8.4.4"]


def test_the_next_address_is_tried_if_one_does_not_answer(
    run: Run, names: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcpgen.runtime.upstream.http import connecting

    connect = connecting._connect_to

    async def hang_on_the_first(address: str, port: int) -> socket.socket:
        if address == "127.0.0.9":
            await asyncio.sleep(60)
        return await connect(address, port)

    monkeypatch.setattr(connecting, "_connect_to", hang_on_the_first)
    names["slow.example"] = ["127.0.0.9", "127.0.0.1"]

    async def attempt() -> None:
        async with serving(OK) as (api, sender):
            assert (await sender.send(HttpRequest("GET", api.url("slow.example")))).body == b"{}"

    run(attempt())


@pytest.mark.parametrize("host", ["nowhere.example", "x" * 70 + ".example", "a..b"])
def test_an_unknown_host_is_reported(run: Run, names: Any, host: str) -> None:
    async def attempt() -> None:
        async with serving(OK) as (api, sender):
            with pytest.raises(ConnectError, match="unknown host name") as unknown:
                await sender.send(HttpRequest("GET", api.url(host)))
            assert not unknown.value.request_sent

    run(attempt())


def test_a_blocked_resolver_delays_neither_other_requests_nor_the_exit(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    lookups = []

    def hang(host: str, *args: Any, **kwargs: Any) -> list[Any]:
        lookups.append(host)
        release.wait(60)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)

    async def attempt() -> None:
        limits = Limits({"connect_timeout_seconds": 0.3})
        async with serving(OK, limits=limits) as (api, sender):
            hung = [sender.send(HttpRequest("GET", api.url("hung.example"))) for _ in range(50)]
            healthy = sender.send(HttpRequest("GET", api.url()))
            *failed, served = await asyncio.gather(*hung, healthy, return_exceptions=True)
            assert served.body == b"{}"
            assert {str(error) for error in failed} == {
                "could not be sent: the API accepted no connection within 0.3 seconds."
            }
            assert lookups == ["hung.example"]

    started = time.monotonic()
    run(attempt())
    assert time.monotonic() - started < 15
    release.set()


def test_concurrent_lookups_are_bounded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: release.wait(60) and found)

    async def attempt() -> None:
        resolver = Resolver()
        names = [f"h{number}.example" for number in range(MAX_LOOKUPS)]
        waiting = [asyncio.create_task(resolver.find_addresses(name)) for name in names]
        await asyncio.sleep(0)
        with pytest.raises(ConnectError, match="too many"):
            await resolver.find_addresses("more.example")
        release.set()
        assert await asyncio.gather(*waiting) == [("192.0.2.1",)] * MAX_LOOKUPS
        assert await resolver.find_addresses("more.example") == ("192.0.2.1",)

    run(attempt())


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/", "http:///", "http://", "http://:80/", "http://a:99999/", "http://a:x/", "//a/",
        "http://u:p@a/", "http://a b/", "http://a/b c", "http://a/\r\nX: y", "http://a/é", "http://[a/",
        "http://a/#f", "http://a\\b@c/",
    ],
)  # fmt: skip
def test_an_invalid_url_is_not_sent(run: Run, names: Any, url: str) -> None:
    async def attempt() -> None:
        async with serving(OK) as (_, sender):
            with pytest.raises(UpstreamError) as invalid:
                await sender.send(HttpRequest("GET", url))
            assert not invalid.value.request_sent

    run(attempt())


@pytest.mark.parametrize(
    "header", [("X", "a\r\nY: b"), ("X", "a\nb"), ("X", "\0"), ("X Y", "a"), ("X:", "a"), ("", "a")]
)
def test_a_header_with_a_line_break_is_not_sent(run: Run, header: tuple[str, str]) -> None:
    async def attempt() -> None:
        async with serving(OK) as (api, sender):
            with pytest.raises(UpstreamError, match="header field") as invalid:
                await sender.send(HttpRequest("GET", api.url(), (header,)))
            assert not invalid.value.request_sent
            assert api.connections == 0

    run(attempt())


# Reuse


def test_unread_data_closes_a_pooled_connection(run: Run) -> None:
    """Both arrived while the loop was busy: a stale response, and then the next request."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for number in range(2):
            accepted, _ = listener.accept()
            with accepted:
                accepted.recv(65536)
                accepted.sendall(OK if number == 0 else OK.replace(b"{}", b"[]"))
                if number == 0:
                    served.wait(10)
                    accepted.sendall(STALE)
                    sent.set()
                closed.wait(10)

    served, sent, closed = threading.Event(), threading.Event(), threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()

    async def attempt() -> None:
        sender = HttpSender("test")
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert (await sender.send(HttpRequest("GET", url))).body == b"{}"
        served.set()
        assert sent.wait(10)  # blocks the event loop on purpose
        closing = threading.Timer(0.05, closed.set)
        closing.start()
        assert (await sender.send(HttpRequest("GET", url))).body == b"[]"
        await sender.aclose()

    run(attempt())
    thread.join(10)
    listener.close()


def test_data_received_before_the_request_is_rejected(run: Run) -> None:
    class Transport:
        def is_closing(self) -> bool:
            return False

    async def attempt(data: bytes, error: type[UpstreamError]) -> None:
        connection = Connection()
        connection.connection_made(Transport())  # type: ignore[arg-type]
        if data:
            connection.data_received(data)
        else:
            connection.connection_lost(None)
        with pytest.raises(error) as unsent:
            await exchange(connection, b"GET / HTTP/1.1\r\n\r\n", HttpRequest("GET", "http://a/"))
        assert not unsent.value.request_sent

    run(attempt(OK, MalformedResponseError))
    run(attempt(b"", DisconnectedError))


def test_an_idle_connection_is_closed_after_its_timeout(run: Run) -> None:
    async def attempt() -> None:
        async with serving(OK, limits=Limits({"idle_timeout_seconds": 0.1})) as (api, sender):
            await sender.send(HttpRequest("GET", api.url()))
            async with asyncio.timeout(10):
                await api.closed.wait()

    run(attempt())


def test_the_idle_timeout_follows_the_keep_alive_header() -> None:
    assert parse_idle_seconds("", 4) == 4
    assert parse_idle_seconds("max=5", 4) == 4
    assert parse_idle_seconds("timeout=x", 4) == 4
    assert parse_idle_seconds("max=9, Timeout=15", 4) == 14
    assert parse_idle_seconds("timeout=1", 4) == 0
    assert parse_idle_seconds("timeout=-5", 4) == 0
    assert parse_idle_seconds("timeout=" + "9" * 5000, 4) == MAX_IDLE_SECONDS


def test_without_idle_time_no_connection_is_kept() -> None:
    assert parse_idle_seconds("timeout=15", 0) == 0


def test_connections_to_one_origin_are_bounded_and_a_cancelled_wait_frees_its_turn(
    run: Run,
) -> None:
    async def attempt() -> None:
        async with serving(b"", limits=Limits({"max_concurrent": 2})) as (api, sender):
            request = HttpRequest("GET", api.url())
            tasks = [asyncio.create_task(sender.send(request)) for _ in range(5)]
            await api.arrived.acquire()
            await api.arrived.acquire()
            await asyncio.sleep(0.05)
            assert api.connections == 2
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            api.answers = (OK,)
            done = await asyncio.gather(*(sender.send(request) for _ in range(5)))
            assert [response.body for response in done] == [b"{}"] * 5

    run(attempt())


def test_closing_the_sender_fails_running_requests(run: Run) -> None:
    async def attempt() -> None:
        async with serving(b"") as (api, sender):
            task = asyncio.create_task(sender.send(HttpRequest("GET", api.url())))
            await api.arrived.acquire()
            await sender.aclose()
            with pytest.raises(DisconnectedError):
                await task

    run(attempt())


# Bounds of an exchange


def test_interim_responses_are_skipped_up_to_their_bound(run: Run) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

    async def attempt(count: int) -> bytes:
        async with serving(interim * count + OK) as (api, sender):
            return (await sender.send(HttpRequest("GET", api.url()))).body  # type: ignore[no-any-return]

    assert run(attempt(8)) == b"{}"
    with pytest.raises(MalformedResponseError, match="interim"):
        run(attempt(9))


def test_a_switching_protocols_response_is_rejected(run: Run) -> None:
    async def attempt() -> None:
        upgrade = b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
        async with serving(upgrade) as (api, sender):
            await sender.send(HttpRequest("GET", api.url()))

    with pytest.raises(MalformedResponseError, match="101"):
        run(attempt())


@pytest.mark.parametrize("encodings", [("gzip", "gzip"), ("gzip, gzip",), ("gzip", "br")])
def test_a_body_that_is_compressed_twice_is_rejected(run: Run, encodings: tuple[str, ...]) -> None:
    fields = "".join(f"Content-Encoding: {it}\r\n" for it in encodings).encode()

    async def attempt() -> None:
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + fields + b"\r\n{}"
        async with serving(answer) as (api, sender):
            await sender.send(HttpRequest("GET", api.url()))

    with pytest.raises(MalformedResponseError, match="unsupported Content-Encoding"):
        run(attempt())


def test_a_gzip_body_of_empty_members_is_rejected(run: Run) -> None:
    async def attempt(body: bytes) -> bytes:
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        async with serving(head % len(body) + body) as (api, sender):
            return (await sender.send(HttpRequest("GET", api.url()))).body  # type: ignore[no-any-return]

    assert run(attempt(gzip.compress(b"a" * 30) * 2000)) == b"a" * 60_000
    with pytest.raises(MalformedResponseError, match="almost no data"):
        run(attempt(gzip.compress(b"") * 60_000))


def test_an_early_response_stops_the_upload(run: Run) -> None:
    async def attempt() -> None:
        async with serving(OK.replace(b"200 OK", b"413 Too large")) as (api, sender):
            request = HttpRequest("POST", api.url(), body=b"x" * 20_000_000)
            assert (await sender.send(request)).status == 413
            assert len(api.requests) == 1

    run(attempt())


def test_a_large_response_is_read_without_blocking_the_event_loop(run: Run) -> None:
    body = bytes(range(256)) * 40_000  # nearly 10 MiB
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async def attempt() -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        async with serving(head + body) as (api, sender):
            ticking = asyncio.create_task(tick())
            assert (await sender.send(HttpRequest("GET", api.url()))).body == body
            ticking.cancel()
            assert ticks > 30
            assert (await sender.send(HttpRequest("GET", api.url()))).body == body
            assert api.connections == 1

    run(attempt())


def test_a_body_that_ends_with_a_reset_is_rejected(run: Run) -> None:
    async def attempt() -> None:
        async with serving(b"HTTP/1.1 200 OK\r\n\r\npart") as (api, sender):
            task = asyncio.create_task(sender.send(HttpRequest("GET", api.url())))
            await api.arrived.acquire()
            await asyncio.sleep(0.05)
            opened = api.writers[0].get_extra_info("socket")
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            api.writers[0].transport.abort()
            with pytest.raises(DisconnectedError, match="in the middle"):
                await task

    run(attempt())


# TLS


async def over_tls(certificate: Path, act: Callable[[HttpSender, int], Awaitable[None]]) -> None:
    """Serve over TLS, and run a function with a sender that trusts the certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    api = Api(OK)
    sender = HttpSender("test", authority=Authority("X_CA_FILE", str(certificate)))
    listening = asyncio.start_server(api.serve, "127.0.0.1", 0, ssl=context)
    async with await listening as listener:
        try:
            await act(sender, listener.sockets[0].getsockname()[1])
        finally:
            await sender.aclose()


def test_the_certificate_is_verified_against_the_host_name(
    run: Run, names: Any, certificate: Path
) -> None:
    names["api.example"] = names["other.example"] = ["127.0.0.1"]

    async def act(sender: HttpSender, port: int) -> None:
        for _ in range(2):
            request = HttpRequest("GET", f"https://api.example:{port}/")
            assert (await sender.send(request)).body == b"{}"
        with pytest.raises(ConnectError, match="for another host") as refused:
            await sender.send(HttpRequest("GET", f"https://other.example:{port}/"))
        assert not refused.value.is_transient

    run(over_tls(certificate, act))


def test_an_incomplete_tls_handshake_times_out(run: Run) -> None:
    async def attempt() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sender = HttpSender("test", limits=Limits({"tls_timeout_seconds": 0.3}))
            url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
            with pytest.raises(ConnectError, match=r"TLS handshake within 0\.3") as late:
                await sender.send(HttpRequest("POST", url))
            assert late.value.is_transient
            assert not late.value.request_sent
            await sender.aclose()

    run(attempt())


def test_an_unwritable_key_log_is_reported_by_its_variable(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "missing" / "keys.txt"))

    async def attempt() -> None:
        await HttpSender("test").send(HttpRequest("GET", "https://127.0.0.1:9/"))

    with pytest.raises(ConfigurationError, match="SSLKEYLOGFILE"):
        run(attempt())
