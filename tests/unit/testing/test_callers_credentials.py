"""Tests of servers with callers' credentials and a mock API, which has no accounts."""

from __future__ import annotations

import pytest

from mcpgen.cli.app import run
from mcpgen.testing.callers_credentials import list_substitute_settings, take_from_settings
from tests.support.paths import EXAMPLES


def test_a_call_with_mock_sends_a_placeholder_for_the_account_of_the_user(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["call", "get_profile", str(EXAMPLES / "calendar-mcp"), "--mock"]) == 0
    assert "> Authorization: Bearer mock-access_token\n" in capsys.readouterr().out


def test_each_scheme_with_credentials_of_callers_gets_a_setting() -> None:
    contract = {
        "env_prefix": "SHOP_",
        "environment": [{"name": "SHOP_BASE_URL"}],
        "security_schemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "login": {"type": "oauth2", "flows": {}},
        },
        "credentials": {
            "login": {"from": "user"},
            "key": {"from": "header", "header": "X-Shop-Key"},
        },
    }
    settings = list_substitute_settings(contract)
    assert [(it["name"], it["scheme"]) for it in settings] == [
        ("SHOP_CALLER_0_ACCESS_TOKEN", "login"),
        ("SHOP_CALLER_1_VALUE", "key"),
    ]
    take_from_settings(contract)
    assert contract["environment"] == [{"name": "SHOP_BASE_URL"}, *settings]
    assert "credentials" not in contract
