"""Tests of checks of callers' credentials at startup, and for `--check-env`."""

from __future__ import annotations

import os
from typing import Any

import pytest

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.serving import serve
from mcpgen.runtime.startup.caller_credentials import find_forwarded_tokens
from mcpgen.runtime.startup.check_env import EnvironmentReport, check_environment
from tests.support.callers import PETSTORE

HEADER = {"api_key": {"from": "header", "header": "X-Shop-Key"}}
EXCHANGE = {"bearer": {"from": "exchange"}}
AUTHORIZATION = {"api_key": {"from": "header", "header": "authorization"}}
AUTHORIZED = {"PETSTORE_AUTH_ISSUER": "https://issuer.example"}


@pytest.fixture(autouse=True)
def _package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PETSTORE))


def report_of(sources: Any, environ: dict[str, str], *, is_http: bool) -> EnvironmentReport:
    package = ServerPackage.load("petstore_mcp")
    package.contract["credentials"] = sources
    package.contract["environment"] = [
        it for it in package.contract["environment"] if it.get("scheme") not in sources
    ]
    settings = {"PETSTORE_API_KEY": "k", "PETSTORE_BEARER": "t", **environ}
    return check_environment(package, settings, is_http=is_http)


@pytest.mark.parametrize(
    ("sources", "environ", "is_http", "reason", "example"),
    [
        (HEADER, {}, False, "the header `X-Shop-Key`, which needs --http", "get_pet"),
        (HEADER, {}, True, "", ""),
        (EXCHANGE, {}, False, "which needs --http", "create_pet"),
        (EXCHANGE, {}, True, "set PETSTORE_EXCHANGE_TOKEN_URL", "create_pet"),
        (
            EXCHANGE,
            {"PETSTORE_EXCHANGE_TOKEN_URL": "https://issuer.example/token"},
            True,
            "set PETSTORE_AUTH_ISSUER",
            "create_pet",
        ),
        (
            EXCHANGE,
            {"PETSTORE_EXCHANGE_TOKEN_URL": "https://issuer.example/token", **AUTHORIZED},
            True,
            "",
            "",
        ),
        ({"bearer": {"from": "user"}}, {}, True, "set PETSTORE_AUTH_ISSUER", "create_pet"),
        ({"bearer": {"from": "user"}}, {}, False, "", ""),
    ],
)
def test_tools_whose_callers_cannot_bring_the_credential_are_reported(
    sources: Any, environ: dict[str, str], is_http: bool, reason: str, example: str
) -> None:
    report = report_of(sources, environ, is_http=is_http)
    text = "\n".join(report.to_lines())
    if not reason:
        assert report.obstacles == ()
        assert "is configured" in text
        return
    (obstacle,) = report.obstacles
    assert obstacle.reason.endswith(reason)
    assert example in obstacle.tools
    assert f"cannot be called: {obstacle.reason}." in text
    assert report.to_json()["obstacles"] == [
        {"reason": obstacle.reason, "tools": list(obstacle.tools)}
    ]
    assert report.blocked == len(obstacle.tools)


def test_a_tool_with_another_way_is_not_blocked() -> None:
    """`get_user` accepts either credential."""
    report = report_of(HEADER, {}, is_http=False)
    assert "get_user" not in report.obstacles[0].tools


def test_settings_of_other_schemes_are_still_needed() -> None:
    package = ServerPackage.load("petstore_mcp")
    package.contract["credentials"] = HEADER
    report = check_environment(package, {}, is_http=True)
    states = {setting.name: setting.state for setting in report.settings}
    assert states["PETSTORE_BEARER"] == "missing"


@pytest.mark.parametrize("setting", ["AUTH_ISSUER", "AUTH_INTROSPECTION_URL", "AUTH_TOKENS_FILE"])
def test_a_server_that_would_forward_tokens_does_not_start(
    setting: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        ServerPackage,
        "_read_contract",
        lambda self, read=ServerPackage._read_contract: read(self) | {"credentials": AUTHORIZATION},
    )
    monkeypatch.setitem(os.environ, f"PETSTORE_{setting}", "https://issuer.example")
    assert serve("petstore_mcp", ["--http", "--port", "0"]) == 2
    assert "is never sent to the API" in capsys.readouterr().err


def test_authorization_as_a_source_is_fine_without_authorization_of_callers() -> None:
    contract = {"env_prefix": "PETSTORE_", "credentials": AUTHORIZATION}
    assert find_forwarded_tokens(contract, {}) == []
    assert find_forwarded_tokens({**contract, "credentials": HEADER}, AUTHORIZED) == []
