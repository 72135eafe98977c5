"""Tests that invalid settings, options and documents are all reported at startup, in one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.attack.api import HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import PACKAGE, PREFIX, Bystander, generate, serve_http
from tests.support.paths import REPOSITORY

SECONDS = 60.0
SECRET = "canary-0123456789abcdef"
SCHEMES = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "digest": {"type": "http", "scheme": "digest"},
    "mutual": {"type": "mutualTLS"},
    "login": {
        "type": "oauth2",
        "flows": {"clientCredentials": {"tokenUrl": "https://api.example.com/t", "scopes": {}}},
    },
}
CREDENTIALS = (
    *("HEADER", "QUERY", "COOKIE", "BEARER", "BASIC_USERNAME", "BASIC_PASSWORD", "DIGEST"),
    *("MUTUAL_CERTIFICATE_FILE", "MUTUAL_KEY_FILE"),
    *(f"LOGIN_{part}" for part in ("CLIENT_ID", "CLIENT_SECRET", "REFRESH_TOKEN", "ACCESS_TOKEN")),
)
BASE_URLS = (
    *(
        "https://api.example.com:99999",
        "https://api.example.com:0",
        f"https://u:{SECRET}@a.example",
    ),
    *("https://[::1", "https://api.example.com\r\nX: y", f"https://{'a' * 64}.example.com"),
)
OPTIONS = (
    *(("--port", value) for value in ("99999", "-1", "http")),
    *(("--drain-timeout", value) for value in ("nan", "-1", "1e300")),
    *(("--host", ""), ("--allowed-host", "a:1"), ("--allowed-origin", "null")),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {
        f"/{name}": {"get": operation(f"use_{name}", security=[{name: []}])} for name in SCHEMES
    }
    document = api_document(paths, {"securitySchemes": SCHEMES})
    return generate(tmp_path_factory.mktemp("settings"), document)


@pytest.fixture(scope="module")
def bystander(project: Path) -> Iterator[Bystander]:
    """Run a client of a healthy server of the same package while other starts fail."""
    with HostileApi() as api, serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        with Bystander(server) as bystander:
            yield bystander
        bystander.check()


def start(
    project: Path, environ: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Start a server that is expected to exit by itself, with an empty stdin."""
    paths = os.pathsep.join([str(REPOSITORY), str(project / "src")])
    done = subprocess.run(
        [sys.executable, "-m", PACKAGE, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": paths, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert SECRET not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def assert_refused(done: subprocess.CompletedProcess[str], *names: str) -> None:
    assert done.returncode == 2, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(names), done.stderr
    for name in names:
        assert any(line.startswith("error: ") and f"{name} " in line for line in lines), name


@pytest.mark.usefixtures("bystander")
def test_a_server_with_valid_settings_starts(project: Path) -> None:
    assert start(project, {f"{PREFIX}HEADER": SECRET}).returncode == 0


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize(
    "value",
    [f"{SECRET}\nx", f"{SECRET}\rx", f"{SECRET}\x1bx", f"{SECRET}\x85x", os.fsdecode(b"\xff")],
    ids=["line feed", "carriage return", "escape", "next line", "no UTF-8"],
)
def test_every_credential_that_cannot_be_sent_is_reported_at_once(
    project: Path, value: str
) -> None:
    names = [f"{PREFIX}{name}" for name in CREDENTIALS]
    assert_refused(start(project, dict.fromkeys(names, value)), *names)


@pytest.mark.usefixtures("bystander")
def test_all_invalid_settings_are_reported_at_once(project: Path, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    environ = {
        f"{PREFIX}BASE_URL": "https://api.example.com:99999",
        f"{PREFIX}BEARER": f"{SECRET}\nx",
        f"{PREFIX}CA_FILE": str(tmp_path / "no.pem"),
        f"{PREFIX}FILE_ROOTS": str(tmp_path / "missing"),
        f"{PREFIX}STATE_KEYS": "short",
        "SSLKEYLOGFILE": str(tmp_path / "missing" / "keys"),
        "SSL_CERT_FILE": str(tmp_path / "no.pem"),
        "SSL_CERT_DIR": str(tmp_path / "missing"),
    }
    assert_refused(start(project, environ), *environ)
    checked = start(project, environ, "--check-env")
    reported = [line for line in checked.stdout.splitlines() if line.startswith("error: ")]
    assert len(reported) == len(environ)


@pytest.mark.parametrize("url", BASE_URLS)
def test_an_invalid_base_url_is_rejected(project: Path, bystander: Bystander, url: str) -> None:
    assert_refused(start(project, {f"{PREFIX}BASE_URL": url}), f"{PREFIX}BASE_URL")


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize(("option", "value"), OPTIONS)
def test_an_invalid_option_is_rejected(project: Path, option: str, value: str) -> None:
    done = start(project, {}, "--http", f"{option}={value}")
    assert done.returncode == 2, done.stderr
    assert f"error: argument {option}: expected " in done.stderr.splitlines()[-1]


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("path", ["{folder}", "{folder}/missing/keys", "{folder}/pipe"])
@pytest.mark.parametrize("arguments", [(), ("--http", "--port", "0")], ids=["stdio", "http"])
def test_an_unwritable_key_log_file_is_rejected(
    project: Path, tmp_path: Path, path: str, arguments: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it for writing would wait for a reader
    environ = {"SSLKEYLOGFILE": path.format(folder=tmp_path)}
    assert_refused(start(project, environ, *arguments), "SSLKEYLOGFILE")


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("value", [" , ", "short", "x" * 32 + ",short", "x" * 31 + "\x1b\x1b"])
def test_invalid_state_keys_are_rejected(project: Path, value: str) -> None:
    done = start(project, {f"{PREFIX}STATE_KEYS": value})
    assert_refused(done, f"{PREFIX}STATE_KEYS")


FAULTY_SCHEMES: dict[str, dict[str, object]] = {
    **{
        f"reserved-{name}": {"type": "apiKey", "in": "header", "name": name}
        for name in ("Host", "content-length", "Transfer-Encoding", "Connection", "TE", "Upgrade")
    },
    "header-line": {"type": "apiKey", "in": "header", "name": "X-Key\r\nX-Other: 1"},
    "header-space": {"type": "apiKey", "in": "header", "name": "X Key"},
    "header-colon": {"type": "apiKey", "in": "header", "name": "X-Key:"},
    "header-unicode": {"type": "apiKey", "in": "header", "name": "X-Schl\u00fcssel"},
    "header-empty": {"type": "apiKey", "in": "header", "name": ""},
    "cookie-pair": {"type": "apiKey", "in": "cookie", "name": "a=b; c"},
    "cookie-line": {"type": "apiKey", "in": "cookie", "name": "a\nb"},
    "query-line": {"type": "apiKey", "in": "query", "name": "a\r\nb"},
    "http-line": {"type": "http", "scheme": "basic\r\nX-Other: 1"},
    "http-space": {"type": "http", "scheme": "bearer x"},
}


def test_faulty_documents_are_reported_by_new(tmp_path: Path) -> None:
    paths = {
        f"/{name}": {"get": operation(f"use-{name}", security=[{name: []}])}
        for name in FAULTY_SCHEMES
    }
    document = api_document(paths, {"securitySchemes": {**FAULTY_SCHEMES}})
    faulty_urls = ("https://api.example.com:99999", "https://api.example.com\r\nX: y")
    document["servers"] = [{"url": url} for url in (*faulty_urls, "https://api.example.com")]
    document["components"]["securitySchemes"]["login"] = {
        "type": "oauth2",
        "flows": {
            "clientCredentials": {"tokenUrl": "https://api.example.com:99999/t", "scopes": {}}
        },
    }
    (tmp_path / "api.json").write_text(json.dumps(document))
    command = [sys.executable, "-m", "mcpgen", "new", "api.json", "made", "--defaults", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)["findings"]
    pointers = {finding["pointer"] for finding in findings if finding["rule"] == "security-scheme"}
    for name in (*FAULTY_SCHEMES, "login"):
        assert f"/components/securitySchemes/{name}" in pointers, name
    servers = [finding["pointer"] for finding in findings if finding["rule"] == "server-url"]
    assert servers == ["/servers/0/url", "/servers/1/url"]
    written = (tmp_path / "made/src/attacked_mcp/_generated/contract.json").read_text()
    assert "99999" not in written
    assert "X-Other" not in written


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("name", ["Host", "Content-Length", "X-Key\r\nX-Other: 1", ""])
def test_a_manually_edited_contract_is_rejected(project: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "project"
    subprocess.run(["cp", "-r", str(project), str(copy)], check=True)
    contract = copy / "src/attacked_mcp/_generated/contract.json"
    described = json.loads(contract.read_text())
    described["security_schemes"]["header"]["name"] = name
    contract.write_text(json.dumps(described))
    assert_refused(start(copy, {f"{PREFIX}HEADER": SECRET}), f"{PREFIX}HEADER")
