"""Tests that a server whose users connect accounts reports missing settings at startup."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.contract import extras
from mcpgen.runtime.startup.connecting import find_connect_problems, has_user_schemes

CONTRACT: dict[str, Any] = {
    "name": "animals",
    "env_prefix": "ANIMALS_",
    "credentials": {"account": {"from": "user"}},
}
COMPLETE = {
    "ANIMALS_AUTH_ISSUER": "https://id.example",
    "ANIMALS_CONNECT_CLIENT_ID": "me",
    "ANIMALS_PUBLIC_URL": "https://mcp.example/mcp",
    "ANIMALS_STATE_KEYS": "k" * 32,
}


def test_a_complete_configuration_has_no_problem() -> None:
    assert find_connect_problems(CONTRACT, COMPLETE) == []


@pytest.mark.parametrize("missing", sorted(COMPLETE))
def test_each_missing_setting_is_named(missing: str) -> None:
    environ = {name: value for name, value in COMPLETE.items() if name != missing}
    (problem,) = find_connect_problems(CONTRACT, environ)
    assert problem.setting == missing
    assert missing in str(problem)
    assert "users connect their accounts at the API" in str(problem)


def test_static_tokens_need_no_client_at_an_issuer() -> None:
    environ = {
        "ANIMALS_AUTH_TOKENS_FILE": "tokens",
        "ANIMALS_PUBLIC_URL": "https://mcp.example/mcp",
        "ANIMALS_STATE_KEYS": "k" * 32,
    }
    assert find_connect_problems(CONTRACT, environ) == []


def test_cryptography_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.MODULE_OF_EXTRA, "seal", "not_installed")
    (problem,) = find_connect_problems(CONTRACT, COMPLETE)
    assert "mcpgen[seal]" in str(problem)


def test_other_servers_need_none_of_this() -> None:
    assert not has_user_schemes({})
    assert find_connect_problems({"credentials": {"key": {"from": "header"}}}, {}) == []
