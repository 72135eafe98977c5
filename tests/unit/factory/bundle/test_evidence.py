"""Tests of evidence of bundles, and of published versions, with a fake registry on loopback."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mcpgen.cli.app import run
from tests.support.paths import EXAMPLES

NAME = "com.example/petstore-mcp"
OFFICIAL = "io.modelcontextprotocol.registry/official"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / "petstore-mcp", tmp_path / "petstore-mcp"))


class Registry(ThreadingHTTPServer):
    """A registry with a single answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.status = 200
        self.content = b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def publish(self, version: str, name: str = NAME) -> None:
        meta = {"status": "active", "publishedAt": "2026-11-01T10:00:00Z", "isLatest": True}
        server = {"name": name, "version": version}
        self.content = json.dumps({"server": server, "_meta": {OFFICIAL: meta}}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read(project: Path, check: str) -> dict[str, Any]:
    evidence: dict[str, Any] = json.loads((project / f".mcpgen/evidence/{check}.json").read_bytes())
    return evidence


def ask(project: Path, registry: Registry, code: int) -> None:
    words = ["bundle", str(project), "--check-published", "--registry", registry.url]
    assert run(words) == code


def test_bundles_are_recorded_with_their_hashes(project: Path, tmp_path: Path) -> None:
    assert run(["bundle", str(project), "--out", str(tmp_path / "out")]) == 0
    evidence = read(project, "bundle")
    assert (evidence["outcome"], evidence["version"]) == ("passed", "0.1.0")
    assert evidence["formats"] == ["mcpb", "plugin", "claude-plugin", "docker", "server-json"]
    assert list(evidence["inputs"]) == ["package"]
    for bundle in evidence["bundles"]:
        assert (tmp_path / "out" / bundle["path"]).exists()
        assert len(bundle["sha256"]) == 64
    assert str(tmp_path) not in json.dumps(evidence)


def test_the_hash_of_a_folder_depends_on_its_files(project: Path) -> None:
    words = ["bundle", str(project), "--format", "plugin,docker"]
    assert run(words) == 0
    plugin, docker = (it["sha256"] for it in read(project, "bundle")["bundles"])
    handler = project / "src/petstore_mcp/handlers/own.py"
    handler.write_text("ANSWER = 42\n")
    assert run(words) == 0
    found = [it["sha256"] for it in read(project, "bundle")["bundles"]]
    assert found[0] != plugin
    assert found[1] == docker


def test_a_dry_run_records_no_bundles(project: Path) -> None:
    assert run(["bundle", str(project), "--dry-run"]) == 0
    assert not (project / ".mcpgen/evidence/bundle.json").exists()


def test_the_published_version_is_recorded(project: Path, registry: Registry) -> None:
    registry.publish("0.1.0")
    ask(project, registry, 0)
    assert registry.asked == [f"/v0.1/servers/{quote(NAME, safe='')}/versions/latest"]
    evidence = read(project, "published")
    host = f"127.0.0.1:{registry.server_port}"
    assert evidence["outcome"] == "passed"
    assert evidence["result"] == f"0.1.0 in {host}"
    assert (evidence["name"], evidence["version"], evidence["local_version"]) == (
        NAME,
        "0.1.0",
        "0.1.0",
    )
    assert (evidence["registry"], evidence["status"]) == (host, "active")
    assert evidence["published_at"] == "2026-11-01T10:00:00Z"
    assert evidence["inputs"] == {}


def test_another_published_version_is_a_finding(project: Path, registry: Registry) -> None:
    registry.publish("0.0.9")
    ask(project, registry, 1)
    evidence = read(project, "published")
    assert evidence["outcome"] == "failed"
    assert evidence["result"].endswith(", 0.1.0 here")


def test_a_server_that_the_registry_does_not_have_is_recorded_so(
    project: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.status = 404
    registry.content = b'{"error": "Server not found"}'
    ask(project, registry, 1)
    assert capsys.readouterr().out == f"{NAME}: not in 127.0.0.1:{registry.server_port}\n"
    assert read(project, "published")["version"] == ""


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (500, b"", "it returned 500"),
        (200, b"<html>", "not that of a registry"),
        (200, b'{"server": []}', "not that of a registry"),
        (200, b'{"server": {"name": "com.example/petstore-mcp", "version": 1}}', "no version"),
        (200, b'{"server": {"name": "com.example/other", "version": "1"}}', "another server"),
        (200, b" " * 1_000_001, "larger than"),
    ],
)
def test_an_unusable_answer_is_reported_and_earlier_evidence_kept(
    project: Path,
    registry: Registry,
    capsys: pytest.CaptureFixture[str],
    status: int,
    content: bytes,
    message: str,
) -> None:
    registry.publish("0.1.0")
    ask(project, registry, 0)
    before = read(project, "published")
    registry.status, registry.content = status, content
    ask(project, registry, 1)
    error = capsys.readouterr().err
    assert "error[unusable-registry]" in error
    assert message in error
    assert read(project, "published") == before


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "registry", "http://", "http://127.0.0.1:x"])
def test_an_invalid_url_of_a_registry_is_reported(
    project: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bundle", str(project), "--check-published", "--registry", url]) == 1
    assert "unusable-registry" in capsys.readouterr().err


def test_a_project_without_a_registry_name_is_a_usage_error(
    project: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "server.json").unlink()
    ask(project, registry, 2)
    assert "no name in `server.json`" in capsys.readouterr().err
    assert registry.asked == []


def test_the_registry_option_needs_the_check(project: Path) -> None:
    assert run(["bundle", str(project), "--registry", "http://127.0.0.1:1"]) == 2
