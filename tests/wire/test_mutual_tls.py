"""Tests of TLS with our own certificates: whom the client trusts, and its own identity."""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.serving import serve as run_server
from tests.wire.served import serve

DOCUMENT = """
openapi: 3.1.1
info: {title: TLS, version: "1"}
servers: [{url: https://api.example.com}]
components:
  securitySchemes:
    mutual: {type: mutualTLS}
paths:
  /secured:
    get: {operationId: secured, security: [{mutual: []}], responses: {"200": {description: Done}}}
  /open:
    get: {operationId: open, security: [], responses: {"200": {description: Done}}}
"""
OPENSSL = shutil.which("openssl")
NUMBERS = itertools.count(1)

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="needs the program openssl")


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.certificate = folder / f"{name}.pem"
        self.key = folder / f"{name}.key"
        self._run(
            "req", "-x509", *_NEW_KEY, "-keyout", str(self.key), "-out", str(self.certificate),
            "-subj", f"/CN={name}", "-days", "2",
            "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip

    def issue(self, name: str) -> tuple[Path, Path]:
        """Issue a certificate and key for `name`, valid for servers on 127.0.0.1 and clients."""
        request, certificate, key, extensions = (
            self.folder / f"{self.certificate.stem}-{name}.{kind}"
            for kind in ("csr", "pem", "key", "ext")
        )
        extensions.write_text("subjectAltName=IP:127.0.0.1\n", encoding="utf-8")
        self._run(
            "req", "-new", *_NEW_KEY, "-keyout", str(key), "-out", str(request),
            "-subj", f"/CN={name}",
        )  # fmt: skip
        self._run(
            "x509", "-req", "-in", str(request), "-CA", str(self.certificate),
            "-CAkey", str(self.key), "-CAcreateserial", "-out", str(certificate), "-days", "2",
            "-extfile", str(extensions),
        )  # fmt: skip
        return certificate, key

    @staticmethod
    def _run(*arguments: str) -> None:
        subprocess.run([str(OPENSSL), *arguments], check=True, capture_output=True, timeout=30)


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("strangers"), "strangers")


Call = Callable[..., tuple[list[str], list[ToolResult]]]


@pytest.fixture
def call(tmp_path: Path, ours: Authority) -> Call:
    """Call tools of a server that requests certificates; return the names of the clients."""

    def run(
        *tools: str,
        certificate: tuple[Path, Path] | None = None,
        demanded: bool = True,
        authority: Path | None = None,
    ) -> tuple[list[str], list[ToolResult]]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ours.certificate)
        context.load_cert_chain(*ours.issue("server"))
        context.verify_mode = ssl.CERT_REQUIRED if demanded else ssl.CERT_OPTIONAL
        files = dict(zip(("CERTIFICATE_FILE", "KEY_FILE"), certificate or (), strict=False))
        settings = {f"MUTUAL_{part}": path for part, path in files.items()}
        if authority is not None:
            settings["CA_FILE"] = authority
        return asyncio.run(_called(tools, settings, context, tmp_path))

    return run


async def _called(
    tools: tuple[str, ...], settings: Mapping[str, Path], context: ssl.SSLContext, folder: Path
) -> tuple[list[str], list[ToolResult]]:
    callers: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            peer = writer.get_extra_info("peercert") or {}
            callers.append(dict(pair for (pair,) in peer.get("subject", ())).get("commonName", ""))
            writer.write(b"HTTP/1.1 204 Done\r\nConnection: close\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the handshake failed, or the client did not like the certificate
        finally:
            writer.close()

    document = folder / "openapi.yaml"
    document.write_text(DOCUMENT, encoding="utf-8")
    served = serve(document, f"tls-{next(NUMBERS)}", folder / "package")
    prefix = served.plan.env_prefix
    async with asyncio.timeout(20):
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        environ = {f"{prefix}{setting}": str(path) for setting, path in settings.items()}
        environ[f"{prefix}BASE_URL"] = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        registry = served.registry(environ)
        silent: Any = SimpleNamespace(owner=None)
        try:
            return callers, [await registry.call(tool, {}, silent) for tool in tools]
        finally:
            await registry.aclose()
            server.close()
            await server.wait_closed()


def said(result: ToolResult) -> str:
    return " ".join(item.text for item in result.content if isinstance(item, Text))


def test_a_client_certificate_is_sent_to_a_trusted_server(
    call: Call, ours: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.certificate))

    callers, (result,) = call("secured", certificate=ours.issue("agent"))

    assert callers == ["agent"]
    assert not result.is_error, said(result)


def test_a_server_whose_authority_is_unknown_gets_no_request(
    call: Call, ours: Authority, strangers: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(strangers.certificate))

    callers, (result,) = call("secured", certificate=ours.issue("agent"))

    assert callers == []
    assert result.is_error
    assert "certificate is not trusted" in said(result)
    assert "_CA_FILE" in said(result)
    assert "127.0.0.1" not in said(result)


def test_a_client_certificate_of_an_unknown_authority_is_rejected(
    call: Call, ours: Authority, strangers: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.certificate))

    callers, (result,) = call("secured", certificate=strangers.issue("agent"))

    assert callers == []
    assert result.is_error
    assert "127.0.0.1" not in said(result)


def test_a_missing_client_certificate_is_reported_by_its_settings(call: Call) -> None:
    callers, (result,) = call("secured", certificate=None)

    assert callers == []
    assert "MUTUAL_CERTIFICATE_FILE and" in said(result)


def test_an_operation_without_mutual_tls_sends_no_certificate(
    call: Call, ours: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.certificate))

    callers, results = call(
        "secured", "open", "secured", certificate=ours.issue("agent"), demanded=False
    )

    assert callers == ["agent", "", "agent"]
    assert [said(result) for result in results if result.is_error] == []


def test_an_authority_of_the_operator_is_trusted(call: Call, ours: Authority) -> None:
    callers, (result,) = call("open", demanded=False, authority=ours.certificate)

    assert callers == [""]
    assert not result.is_error, said(result)


def test_an_authority_of_the_operator_can_be_combined_with_a_client_certificate(
    call: Call, ours: Authority
) -> None:
    callers, (result,) = call(
        "secured", certificate=ours.issue("agent"), authority=ours.certificate
    )

    assert callers == ["agent"]
    assert not result.is_error, said(result)


def test_a_server_with_another_authority_gets_no_request(call: Call, strangers: Authority) -> None:
    callers, (result,) = call("open", demanded=False, authority=strangers.certificate)

    assert callers == []
    assert "certificate is not trusted" in said(result)


def test_a_file_without_certificates_is_reported_by_its_setting(call: Call, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("", encoding="utf-8")

    for file in (empty, tmp_path / "missing.pem"):
        callers, (result,) = call("open", demanded=False, authority=file)

        assert callers == []
        assert "_CA_FILE must name a readable file with certificates" in said(result)


def test_check_env_reports_an_unusable_authority(
    ours: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = tmp_path / "openapi.yaml"
    document.write_text(DOCUMENT, encoding="utf-8")
    plan = serve(document, f"tls-{next(NUMBERS)}", tmp_path / "package").plan
    setting = f"{plan.env_prefix}CA_FILE"

    told = []
    for file in ("", str(ours.certificate), str(ours.key), str(tmp_path)):
        monkeypatch.setenv(setting, file)
        code = run_server(plan.package, ["--check-env"])
        lines = capsys.readouterr().out.splitlines()
        (line,) = (line for line in lines if line.startswith(setting))
        told.append((code, re.split("  +", line)[1]))

    assert told == [(0, "not set"), (0, "set"), (1, "invalid"), (1, "invalid")]


def test_check_env_reports_an_unusable_client_certificate(
    ours: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    certificate, key = ours.issue("checked")
    encrypted = tmp_path / "encrypted.key"
    ours._run("pkey", "-in", str(key), "-aes128", "-passout", "pass:open", "-out", str(encrypted))
    document = tmp_path / "openapi.yaml"
    document.write_text(DOCUMENT, encoding="utf-8")
    plan = serve(document, f"tls-{next(NUMBERS)}", tmp_path / "package").plan
    monkeypatch.setenv(f"{plan.env_prefix}MUTUAL_CERTIFICATE_FILE", str(certificate))

    told = []
    for file in (key, encrypted, certificate):
        monkeypatch.setenv(f"{plan.env_prefix}MUTUAL_KEY_FILE", str(file))
        code = run_server(plan.package, ["--check-env"])
        told.append((code, "error: " in capsys.readouterr().out))

    assert told == [(0, False), (1, True), (1, True)]
