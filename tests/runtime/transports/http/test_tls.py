"""Tests of TLS of the HTTP server: its certificate, slow and non-TLS clients, reloading."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.healthcheck import find_problem
from mcpgen.runtime.transports.http.server import HttpServer
from mcpgen.runtime.transports.http.tls import Certificate
from tests.support.certificates import KeyPair, make_key_pair, shared_key_pair
from tests.support.http_server import BOUND_SECONDS, Clock, make_served, until
from tests.support.paths import REPOSITORY
from tests.support.stdio_process import write_package

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Server:
    """An HTTPS server whose certificate is in `folder`, and whose clock the test moves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        paths = shared_key_pair().write(folder)
        self.certificate = Certificate(*map(str, paths), prefix="SHOP_")
        self.served = make_served()
        self.clock = Clock()
        self.http = HttpServer(self.served.app, certificate=self.certificate, now=self.clock)
        self.port = 0

    def pass_time(self, seconds: float) -> None:
        self.http._tend_connections()
        self.clock.now += seconds
        self.http._tend_connections()

    async def open_plain(self, sent: bytes = b"") -> tuple[asyncio.StreamReader, Any]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        return reader, writer

    async def open_tls(self, pair: KeyPair | None = None) -> tuple[asyncio.StreamReader, Any]:
        context = (pair or shared_key_pair()).client_context()
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=context)

    async def accepted(self, count: int) -> None:
        await until(lambda: len(self.http._connections) == count)


def on_server(tmp_path: Path, scenario: Callable[[Server], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        server = Server(tmp_path)
        address = await server.http.listen("127.0.0.1", 0)
        server.port = int(address.rpartition(":")[2])
        try:
            await asyncio.wait_for(scenario(server), 3 * BOUND_SECONDS)
        finally:
            await server.http.stop(0)
            await server.served.dispatcher.aclose()

    with asyncio.Runner() as runner:
        runner.run(bounded())


async def is_served(streams: tuple[asyncio.StreamReader, Any]) -> bool:
    reader, writer = streams
    writer.write(HEALTH)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND_SECONDS)
    return head.startswith(b"HTTP/1.1 200 ")


def test_only_tls_1_2_and_later_are_served(tmp_path: Path) -> None:
    certificate = Certificate(*map(str, shared_key_pair().write(tmp_path)))
    assert certificate.context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_a_client_of_http_2_falls_back_to_http_1(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        context = shared_key_pair().client_context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        streams = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
        chosen = streams[1].get_extra_info("ssl_object").selected_alpn_protocol()
        assert chosen == "http/1.1"
        assert await is_served(streams)
        streams[1].close()

    on_server(tmp_path, scenario)


def test_a_plain_request_to_the_tls_port_is_answered_with_400(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        reader, writer = await server.open_plain(HEALTH)
        answer = await asyncio.wait_for(reader.read(), BOUND_SECONDS)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.endswith(b"\r\n\r\nThis port accepts HTTPS only.\n")
        writer.close()
        await server.accepted(0)

    on_server(tmp_path, scenario)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"])
def test_a_handshake_that_stalls_is_ended_while_others_are_served(
    tmp_path: Path, sent: bytes
) -> None:
    async def scenario(server: Server) -> None:
        stalled = [await server.open_plain(sent) for _ in range(50)]
        await server.accepted(50)
        streams = await server.open_tls()
        assert await is_served(streams)
        server.pass_time(DEFAULT_LIMITS.head_timeout_seconds - 1)
        for _, writer in stalled:  # progress by single bytes does not help
            writer.write(b"\x00" if sent else b"\x16")
        server.pass_time(1)
        await server.accepted(1)
        assert await is_served(streams)
        for _, writer in [*stalled, streams]:
            writer.close()

    on_server(tmp_path, scenario)


def test_a_new_connection_replaces_the_oldest_stalled_handshake(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        server.http.limits.max_connections = 3
        stalled = []
        for count in (1, 2, 3):
            stalled.append(await server.open_plain(b"\x16\x03\x01"))
            await server.accepted(count)
        streams = await server.open_tls()
        assert await is_served(streams)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stalled[1][0].read(), 0.05)
        assert stalled[0][0].exception() or await stalled[0][0].read() == b""
        for _, writer in [*stalled, streams]:
            writer.close()

    on_server(tmp_path, scenario)


@pytest.mark.parametrize("is_established", [False, True], ids=["handshake", "established"])
def test_garbage_ends_the_connection_without_a_log_line(
    tmp_path: Path, is_established: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    garbage = b"\x17\x03\x03\x00\x40" + bytes(64)

    async def scenario(server: Server) -> None:
        loop = asyncio.get_running_loop()
        wire = socket.create_connection(("127.0.0.1", server.port))
        wire.setblocking(False)
        if is_established:
            context = shared_key_pair().client_context()
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    await loop.sock_sendall(wire, outgoing.read())
                    incoming.write(await loop.sock_recv(wire, 65536))
            await loop.sock_sendall(wire, outgoing.read())
        await loop.sock_sendall(wire, garbage)
        while await asyncio.wait_for(loop.sock_recv(wire, 65536), BOUND_SECONDS):
            pass  # tickets and the alert
        await server.accepted(0)
        wire.close()
        streams = await server.open_tls()
        assert await is_served(streams)
        streams[1].close()

    on_server(tmp_path, scenario)
    assert capsys.readouterr().err == ""


def test_a_changed_certificate_serves_new_connections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario(server: Server) -> None:
        old = await server.open_tls()
        assert await is_served(old)
        renewed = make_key_pair()
        renewed.write(server.folder)
        server.certificate.reload_if_changed()
        server.certificate.reload_if_changed()
        new = await server.open_tls(renewed)
        assert await is_served(new)
        assert await is_served(old)
        for _, writer in (old, new):
            writer.close()

    on_server(tmp_path, scenario)
    assert capsys.readouterr().err == "info: the TLS certificate was reloaded\n"


def test_a_broken_new_pair_leaves_the_old_one_and_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario(server: Server) -> None:
        renewed = make_key_pair()
        (server.folder / "tls.crt").write_bytes(renewed.certificate)
        for _ in range(4):
            server.certificate.reload_if_changed()
        streams = await server.open_tls()
        assert await is_served(streams)
        streams[1].close()
        (server.folder / "tls.key").write_bytes(renewed.key)
        for _ in range(4):
            server.certificate.reload_if_changed()
        streams = await server.open_tls(renewed)
        assert await is_served(streams)
        streams[1].close()

    on_server(tmp_path, scenario)
    assert capsys.readouterr().err == (
        "error: the previous TLS certificate stays in use: invalid SHOP_TLS_KEY: the key is not"
        " that of SHOP_TLS_CERT\n"
        "info: the TLS certificate was reloaded\n"
    )


def test_files_that_are_replaced_one_after_the_other_are_read_when_both_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = Certificate(*map(str, shared_key_pair().write(tmp_path)))
    renewed = make_key_pair()
    (tmp_path / "tls.crt").write_bytes(renewed.certificate)
    certificate.reload_if_changed()
    (tmp_path / "tls.key").write_bytes(renewed.key)
    certificate.reload_if_changed()
    certificate.reload_if_changed()
    assert capsys.readouterr().err == "info: the TLS certificate was reloaded\n"


def _encrypted_key() -> bytes:
    key = serialization.load_pem_private_key(shared_key_pair().key, None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("tls.crt", None, r"invalid SHOP_TLS_CERT: cannot read .*tls\.crt: No such file or direc"),
        ("tls.crt", b"x", "invalid SHOP_TLS_CERT: the file contains no certificate in PEM format"),
        ("tls.crt", b"-----BEGIN CERTIFICATE-----\nx", "invalid SHOP_TLS_CERT: OpenSSL rejects"),
        ("tls.key", None, r"invalid SHOP_TLS_KEY: cannot read .*tls\.key: No such file or direc"),
        ("tls.key", b"x", "invalid SHOP_TLS_KEY: the file contains no private key in PEM format"),
        ("tls.key", _encrypted_key(), "invalid SHOP_TLS_KEY: the key has a passphrase"),
        ("tls.key", make_key_pair().key, "invalid SHOP_TLS_KEY: the key is not that of SHOP_TLS_"),
    ],
    ids=["no cert", "not PEM", "broken", "no key", "key not PEM", "passphrase", "another key"],
)
def test_an_invalid_pair_is_reported_by_the_name_of_its_setting(
    tmp_path: Path, file: str, content: bytes | None, problem: str
) -> None:
    certificate, key = shared_key_pair().write(tmp_path)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(ConfigurationError, match=problem) as raised:
        Certificate(str(certificate), str(key), prefix="SHOP_")
    assert raised.value.setting == ("SHOP_TLS_CERT" if file == "tls.crt" else "SHOP_TLS_KEY")


@contextmanager
def serving(
    tmp_path: Path, *arguments: str, **settings: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server process; yield it and its first log line."""
    folder = write_package(tmp_path)
    paths = os.pathsep.join([str(folder), str(REPOSITORY)])
    process = subprocess.Popen(
        [sys.executable, "-m", "small_mcp", "--http", "--port", "0", *arguments],
        env={**os.environ, "PYTHONPATH": paths, **settings},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield process, process.stderr.readline()
    finally:
        process.kill()
        process.communicate()


def get_health(port: int, **headers: str) -> int:
    context = shared_key_pair().client_context()
    connection = http.client.HTTPSConnection(
        "127.0.0.1", port, timeout=BOUND_SECONDS, context=context
    )
    connection.request("GET", "/health", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.slow
@pytest.mark.parametrize("by_setting", [False, True], ids=["options", "settings"])
def test_a_process_serves_https_and_its_health_check_passes(
    tmp_path: Path, by_setting: bool
) -> None:
    certificate, key = map(str, shared_key_pair().write(tmp_path))
    options = [] if by_setting else ["--tls-cert", certificate, "--tls-key", key]
    settings = {"SMALL_TLS_CERT": certificate, "SMALL_TLS_KEY": key} if by_setting else {}
    with serving(tmp_path, *options, **settings) as (process, line):
        served = re.search(r"served at https://127\.0\.0\.1:(\d+)/mcp$", line)
        assert served, line
        port = int(served[1])
        assert get_health(port) == 200
        assert get_health(port, Origin=f"https://127.0.0.1:{port}") == 200
        assert get_health(port, Origin=f"http://127.0.0.1:{port}") == 403
        command = ["/server/bin/small-mcp", "--http", "--port", str(port), *options]
        assert find_problem(command, settings) == ""
        process.terminate()
        assert process.wait(BOUND_SECONDS) == 0


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["SMALL_TLS_CERT", "SMALL_TLS_KEY"])
def test_a_certificate_without_a_key_or_the_reverse_stops_the_start(
    tmp_path: Path, missing: str
) -> None:
    certificate, key = map(str, shared_key_pair().write(tmp_path))
    settings = {"SMALL_TLS_CERT": certificate, "SMALL_TLS_KEY": key}
    del settings[missing]
    with serving(tmp_path, **settings) as (process, line):
        assert line.startswith(f"error: missing {missing}: SMALL_TLS_")
        assert process.wait(BOUND_SECONDS) == 2


def test_a_server_without_a_certificate_does_not_import_the_tls_layer() -> None:
    code = (
        "import sys, mcpgen.runtime.transports.http.server\n"
        "print('mcpgen.runtime.transports.http.tls' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
