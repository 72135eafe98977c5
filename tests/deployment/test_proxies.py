"""Tests of a real server behind nginx and Caddy, configured as in our examples."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcpgen.contract.limits import DEFAULT_LIMITS
from tests.support.certificates import shared_key_pair
from tests.support.deployment import find_program, write
from tests.support.http_requests import ECHO, MODERN_ECHO, USUAL, ask, connect, use_sse
from tests.support.http_server import BOUND_SECONDS, modern
from tests.support.running_process import serving, wait_until_listening
from tests.support.stdio_process import wait_until_exists, write_package

pytestmark = pytest.mark.slow


@dataclass
class Proxied:
    """A proxy with TLS in front of a server."""

    port: int
    plain_port: int
    server_port: int
    folder: Path
    tls: ssl.SSLContext


def free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def configure_nginx(folder: Path, server_port: int, port: int, plain_port: int) -> list[str]:
    """Write an nginx configuration around our example; return the command."""
    certificate, key = shared_key_pair().write(folder)
    site = write(
        folder,
        "deploy/nginx.conf",
        {
            "server 127.0.0.1:8000;": f"server 127.0.0.1:{server_port};",
            "listen 80;": f"listen 127.0.0.1:{plain_port};",
            "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            "small-mcp.example.com": "localhost",
            "/etc/ssl/small-mcp.crt": str(certificate),
            "/etc/ssl/small-mcp.key": str(key),
        },
    )
    site = site.rename(folder / "site.conf")
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    main = folder / "nginx.conf"
    main.write_text(
        f"{user}daemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}include {site};\n}}\n"
    )
    return [find_program("nginx"), "-e", "stderr", "-c", str(main)]


def configure_caddy(folder: Path, server_port: int, port: int, plain_port: int) -> list[str]:
    """Write our Caddy example with its own certificate; return the command."""
    certificate, key = shared_key_pair().write(folder)
    file = write(
        folder,
        "deploy/Caddyfile",
        {
            "small-mcp.example.com {": f"https://localhost:{port} {{\n\ttls {certificate} {key}\n",
            "127.0.0.1:8000": f"127.0.0.1:{server_port}",
        },
    )
    file.write_text(
        f"{{\n\tadmin off\n\thttp_port {plain_port}\n\tdefault_bind 127.0.0.1\n}}\n"
        + file.read_text()
    )
    return [find_program("caddy"), "run", "--adapter", "caddyfile", "--config", str(file)]


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxied(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxied]:
    folder = tmp_path_factory.mktemp(request.param)
    configure = configure_nginx if request.param == "nginx" else configure_caddy
    find_program(request.param)
    own = ["small_mcp", "--http", "--port", "0", "--sse"]
    write_package(folder)
    with serving(folder, own, r"served at http://127\.0\.0\.1:(\d+)") as server_port:
        port, plain_port = free_ports(2)
        command = configure(folder, server_port, port, plain_port)
        with running(command, folder, port):
            tls = shared_key_pair().client_context()
            yield Proxied(port, plain_port, server_port, folder, tls)


@contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    log_file = folder / "proxy.log"
    environ = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stderr=log, stdout=log, env=environ)
    try:
        wait_until_listening(port, process, log_file)
        yield
    finally:
        process.terminate()
        process.wait(BOUND_SECONDS)


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    command = configure_nginx(tmp_path, 8000, *free_ports(2))
    done = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


def test_caddy_accepts_its_configuration(tmp_path: Path) -> None:
    caddy = find_program("caddy")
    file = write(tmp_path, "deploy/Caddyfile", {})
    environ = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    for command in (
        ["adapt", "--adapter", "caddyfile", "--config"],
        ["fmt", "--diff"],
    ):
        done = subprocess.run(
            [caddy, *command, str(file)], capture_output=True, text=True, check=False, env=environ
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "not formatted" not in done.stderr


def test_a_call_through_a_proxy_is_answered_like_a_direct_one(proxied: Proxied) -> None:
    call = ("POST", "/mcp", MODERN_ECHO, json.dumps(ECHO).encode())
    assert ask(proxied.port, *call, tls=proxied.tls) == ask(proxied.server_port, *call)


def test_events_pass_a_proxy_while_the_stream_is_open(proxied: Proxied) -> None:
    assert use_sse(proxied.port, proxied.tls) == use_sse(proxied.server_port)


def test_a_long_body_passes_a_proxy(proxied: Proxied) -> None:
    text = "x" * 3_000_000
    call = modern("tools/call", {"name": "echo", "arguments": {"text": text}})
    data = json.dumps(call).encode()
    request = ("POST", "/mcp", MODERN_ECHO, data)
    answer = ask(proxied.port, *request, tls=proxied.tls)
    assert answer[0] == 200
    assert answer == ask(proxied.server_port, *request)


@pytest.mark.parametrize("is_chunked", [False, True], ids=["sized", "chunked"])
def test_a_body_above_the_limit_is_rejected(proxied: Proxied, is_chunked: bool) -> None:
    body = bytes(DEFAULT_LIMITS.max_message_bytes + 1)
    for _ in range(5):  # a limit of the proxy itself may win or lose a race against the server
        connection = connect(proxied.port, proxied.tls)
        connection.putrequest("POST", "/mcp")
        for name, value in USUAL.items():
            connection.putheader(name, value)
        if is_chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        else:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        with suppress(OSError):
            connection.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if is_chunked else body)
        assert connection.getresponse().status == 413
        connection.close()


def test_a_disconnect_reaches_the_server_through_a_proxy(proxied: Proxied) -> None:
    marker = proxied.folder / "marker"
    call = modern("tools/call", {"name": "wait_for", "arguments": {"text": str(marker)}})
    connection = connect(proxied.port, proxied.tls)
    connection.request(
        "POST", "/mcp", json.dumps(call).encode(), {**MODERN_ECHO, "Mcp-Name": "wait_for"}
    )
    status, _, _ = ask(
        proxied.port, "POST", "/mcp", MODERN_ECHO, json.dumps(ECHO).encode(), tls=proxied.tls
    )
    assert status == 200
    connection.close()
    wait_until_exists(marker)
    assert marker.read_text() == "cancelled"


def test_a_foreign_host_is_rejected_behind_a_proxy(proxied: Proxied) -> None:
    fields = {"Host": "evil.example"}
    status, _, _ = ask(proxied.port, "GET", "/health", fields, tls=proxied.tls)
    # Caddy serves only the hosts of its sites, with an empty answer for others.
    assert status in {200, 421}
    if status == 200:
        assert proxied.folder.name.startswith("caddy")
