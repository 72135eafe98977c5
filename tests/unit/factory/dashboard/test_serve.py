"""Tests of the dashboard over HTTP: on this machine only, and only files linked from the page."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import pytest

from mcpgen.factory.dashboard.collect import collect
from mcpgen.factory.dashboard.page import MARK
from mcpgen.factory.dashboard.serve import DashboardServer
from tests.support.paths import EXAMPLES

NOW = datetime(2026, 11, 24, 10, 0, tzinfo=UTC)
WAIT_SECONDS = 60
LINT = "/petstore-mcp/.mcpgen/evidence/lint.json"


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes


Ask = Callable[..., Answer]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("petstore-mcp", "n8n-mcp"):
        shutil.copytree(EXAMPLES / name, tmp_path / "work" / name)
    (tmp_path / "work/mcpgen-workspace.yaml").write_text(
        'version: 1\nmcpgen: ">=0.1"\nservers: ["*-mcp"]\n'
    )
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "work"


@pytest.fixture
def server(root: Path) -> Iterator[DashboardServer]:
    with DashboardServer(partial(collect, root, NOW), root, 0) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join(WAIT_SECONDS)


@pytest.fixture
def ask(server: DashboardServer) -> Ask:
    """Return a function that sends a request and returns the response, fully read."""

    def send(
        path: str, method: str = "GET", host: str = "", headers: tuple[tuple[str, str], ...] = ()
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=WAIT_SECONDS)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in (
            ("Host", host or f"127.0.0.1:{server.server_port}"),
            *headers,
            ("Connection", "close"),
        ):
            connection.putheader(name, value)
        connection.endheaders()
        with closing(connection), connection.getresponse() as response:
            return Answer(response.status, dict(response.headers.items()), response.read())

    return send


def test_the_page_and_its_data_are_served(ask: Ask) -> None:
    page = ask("/")
    assert (page.status, page.headers["Cache-Control"]) == (200, "no-store")
    assert MARK in page.body.decode()
    data = ask("/fleet.json")
    assert data.headers["Content-Type"] == "application/json"
    servers = [it["status"]["server"] for it in json.loads(data.body)["servers"]]
    assert servers == ["n8n-mcp", "petstore-mcp"]


def test_each_request_examines_anew(ask: Ask, root: Path) -> None:
    stages = json.loads(ask("/fleet.json").body)["servers"][1]["status"]["stages"]
    assert stages[2]["proof"]["state"] == "passed"
    (root / LINT.removeprefix("/")).unlink()
    stages = json.loads(ask("/fleet.json").body)["servers"][1]["status"]["stages"]
    assert stages[2]["proof"]["state"] == "unknown"


def test_linked_evidence_is_served_as_text(ask: Ask, root: Path) -> None:
    found = ask(LINT)
    assert found.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert found.headers["Content-Security-Policy"].startswith("default-src 'none'; sandbox")
    assert found.body == (root / LINT.removeprefix("/")).read_bytes()
    assert ask("/mcpgen-workspace.yaml").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/petstore-mcp/",
        "/petstore-mcp/openapi.yaml",
        "/petstore-mcp/.env",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/petstore-mcp/../../secret.txt",
        "//secret.txt",
        "/petstore-mcp/.mcpgen/evidence/lint.json/",
        "/petstore-mcp/.mcpgen/evidence/%00",
        "/favicon.ico",
        "*",
    ],
)
def test_nothing_else_is_served(path: str, ask: Ask, root: Path) -> None:
    (root / "petstore-mcp/.env").write_text("KEY=secret")
    assert ask(path).status == 404


def test_evidence_that_is_a_link_out_of_the_workspace_is_not_served(ask: Ask, root: Path) -> None:
    file = root / LINT.removeprefix("/")
    file.unlink()
    file.symlink_to(root.parent / "secret.txt")
    assert ask(LINT).status == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.:{}"])
def test_other_hosts_are_misdirected(host: str, ask: Ask, server: DashboardServer) -> None:
    assert ask("/", host=host.format(server.server_port)).status == 421


def test_localhost_is_this_host_and_two_hosts_are_none(ask: Ask, server: DashboardServer) -> None:
    own = f"localhost:{server.server_port}"
    assert ask("/", host=own).status == 200
    assert ask("/", host=own, headers=(("Host", "evil.example"),)).status == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_get_and_head_are_allowed(method: str, ask: Ask) -> None:
    response = ask("/", method=method)
    assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")


def test_head_has_no_body(ask: Ask) -> None:
    response = ask("/", method="HEAD")
    assert response.status == 200
    assert int(response.headers["Content-Length"]) > 1000
    assert response.body == b""


def test_it_listens_on_this_machine_only(server: DashboardServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_a_workspace_that_became_invalid_is_reported(ask: Ask, root: Path) -> None:
    (root / "mcpgen-workspace.yaml").write_text("servers: 1")
    response = ask("/")
    assert (response.status, response.body) == (500, b"`mcpgen ws check` says why\n")
