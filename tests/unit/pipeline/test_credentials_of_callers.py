"""Tests of the effect of `credentials` in the manifest on generated files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpgen.pipeline.options import Report

SCHEMES = """\
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    oauth:
      type: oauth2
      flows:
        authorizationCode:
          authorizationUrl: https://auth.example/authorize
          tokenUrl: https://auth.example/token
          scopes: {}
"""


@pytest.fixture
def contract(project: Path, regenerate: Callable[..., Report]) -> Callable[..., Any]:
    """Return the server's contract for an entry of `credentials`, or for none."""
    document = project / "openapi.yaml"
    text = document.read_text().replace("components:\n", f"components:\n{SCHEMES}")
    text = text.replace("operationId: getPet", "operationId: getPet\n      security: [{key: []}]")
    document.write_text(
        text.replace(
            "operationId: listOrders", "operationId: listOrders\n      security: [{oauth: []}]"
        )
    )
    manifest = (project / "mcpgen.yaml").read_text()

    def generate(credentials: str = "") -> Any:
        (project / "mcpgen.yaml").write_text(manifest + credentials)
        report = regenerate()
        assert report.outcome == "done", list(report.problems)
        (path,) = project.glob("src/*/_generated/contract.json")
        return json.loads(path.read_bytes())

    return generate


def settings(contract: Any) -> list[str]:
    return [it["name"] for it in contract["environment"] if "scheme" in it]


def test_a_contract_without_credentials_of_callers_has_no_such_key(
    contract: Callable[..., Any],
) -> None:
    assert "credentials" not in contract()
    found = contract("credentials: {key: {from: environment}}\n")
    assert "credentials" not in found
    assert "EXCHANGE" not in str(found["environment"])


def test_settings_of_callers_credentials_disappear(
    contract: Callable[..., Any], project: Path
) -> None:
    assert settings(contract()) == [
        "PET_SHOP_KEY",
        "PET_SHOP_OAUTH_CLIENT_ID",
        "PET_SHOP_OAUTH_CLIENT_SECRET",
        "PET_SHOP_OAUTH_REFRESH_TOKEN",
        "PET_SHOP_OAUTH_ACCESS_TOKEN",
    ]
    found = contract(
        "credentials: {key: {from: header, header: X-Shop-Key}, oauth: {from: exchange}}\n"
    )
    assert found["credentials"] == {
        "key": {"from": "header", "header": "X-Shop-Key"},
        "oauth": {"from": "exchange"},
    }
    assert settings(found) == []
    names = {it["name"] for it in found["environment"]}
    assert {"PET_SHOP_EXCHANGE_TOKEN_URL", "PET_SHOP_EXCHANGE_CLIENT_SECRET"} <= names
    assert "PET_SHOP_KEY" not in (project / ".env.example").read_text()
    assert "PET_SHOP_KEY" not in (project / "README.md").read_text()
    assert "`X-Shop-Key`" in (project / "README.md").read_text()


def test_users_who_connect_need_the_client_of_the_server(contract: Callable[..., Any]) -> None:
    found = contract("credentials: {oauth: {from: user}}\n")
    assert settings(found) == [
        "PET_SHOP_KEY",
        "PET_SHOP_OAUTH_CLIENT_ID",
        "PET_SHOP_OAUTH_CLIENT_SECRET",
    ]


def test_the_mock_api_knows_nothing_of_the_source(
    contract: Callable[..., Any], project: Path
) -> None:
    contract()
    before = (project / "tests/generated/upstream.json").read_bytes()
    contract("credentials: {key: {from: header, header: X-Shop-Key}}\n")
    assert (project / "tests/generated/upstream.json").read_bytes() == before
