"""Tests of the variables that the span exporter reads, and how often it reads them."""

from __future__ import annotations

import pytest
from requests import Request

from mcpgen.runtime.telemetry.export_session import ExportSession, make_session

URL = "http://collector.example:4318/v1/traces"
PROXY = "http://proxy.example:3128"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CERTIFICATES = ("requests_ca_bundle", "curl_ca_bundle")


@pytest.fixture(autouse=True)
def without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_PROXIES, *_CERTIFICATES):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def read(session: ExportSession, url: str = URL) -> dict[str, object]:
    settings: dict[str, object] = session.merge_environment_settings(url, {}, None, None, None)
    return settings


def test_spans_are_exported_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    assert read(ExportSession())["proxies"] == {"http": PROXY}


def test_no_proxy_excepts_the_host_of_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", "collector.example")
    session = ExportSession()
    assert read(session)["proxies"] == {}
    assert read(session, "http://other.example")["proxies"] == {
        "http": PROXY,
        "no": "collector.example",
    }


def test_certificates_of_the_environment_and_of_the_exporter_apply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = ExportSession()
    session.verify = "exporter.pem"
    assert read(session)["verify"] == "exporter.pem"
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "environment.pem")
    assert read(ExportSession())["verify"] == "environment.pem"


def test_the_environment_is_read_once_for_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    session = ExportSession()
    assert read(session)["proxies"] == {}
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    assert read(session)["proxies"] == {}


@pytest.mark.parametrize("kind", ["", "TRACES_"])
def test_a_credential_provider_makes_the_session(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(make_session(), ExportSession)
    monkeypatch.setenv(f"OTEL_PYTHON_EXPORTER_OTLP_HTTP_{kind}CREDENTIAL_PROVIDER", "own")
    assert make_session() is None


def prepare(session: ExportSession, body: bytes, url: str = URL) -> tuple[object, dict[str, str]]:
    headers = {"api-key": "secret", "content-type": "application/x-protobuf"}
    prepared = session.prepare_request(Request("POST", url, headers=headers, data=body))
    assert prepared.url == url
    return prepared.body, {name.lower(): value for name, value in prepared.headers.items()}


def test_a_further_request_differs_from_the_first_by_its_body_alone() -> None:
    session, other = ExportSession(), ExportSession()
    prepare(session, b"first")
    for body in (b"a longer body", b"x"):
        assert prepare(session, body) == prepare(other, body)
        other = ExportSession()
    assert prepare(session, b"x", f"{URL}/other")[0] == b"x"


def test_a_cookie_of_the_collector_is_sent() -> None:
    session = ExportSession()
    prepare(session, b"first")
    session.cookies.set("node", "2")
    assert prepare(session, b"second")[1]["cookie"] == "node=2"
