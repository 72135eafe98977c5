"""Tests that invalid and inconsistent authorization settings are reported by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.contract import extras
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.authorization import find_authorization_problems, make_authorization
from mcpgen.runtime.startup.startup_checks import find_invalid_settings

CONTRACT = {"name": "pets", "env_prefix": "PETS_"}
ISSUER = "https://id.example"


def find_problems(**settings: str) -> list[tuple[str, str]]:
    environ = {f"PETS_{name}": value for name, value in settings.items()}
    found = [
        *find_invalid_settings(CONTRACT, environ),
        *find_authorization_problems(CONTRACT, environ),
    ]
    return [(it.setting, str(it)) for it in found]


@pytest.mark.parametrize(
    ("settings", "setting", "text"),
    [
        ({"AUTH_ISSUER": "http://id.example"}, "AUTH_ISSUER", "expected an https URL"),
        ({"AUTH_ISSUER": "id.example"}, "AUTH_ISSUER", "expected an https URL"),
        ({"AUTH_ISSUER": f"{ISSUER}#x"}, "AUTH_ISSUER", "expected an https URL"),
        ({"AUTH_ISSUER": f"{ISSUER}?a=b"}, "AUTH_ISSUER", "it has a query"),
        ({"AUTH_ISSUER": ISSUER, "AUTH_SCOPES": 'a "b"'}, "AUTH_SCOPES", "expected scopes"),
        ({"AUTH_ISSUER": ISSUER, "PUBLIC_URL": "http://a.example"}, "PUBLIC_URL", "https"),
        ({"AUTH_ISSUER": ISSUER, "PUBLIC_URL": "https://a.example/?b"}, "PUBLIC_URL", "a query"),
        ({"AUTH_AUDIENCE": "a"}, "AUTH_ISSUER", "PETS_AUTH_AUDIENCE is set"),
        ({"AUTH_SCOPES": "a"}, "AUTH_ISSUER", "PETS_AUTH_SCOPES is set"),
        ({"AUTH_JWKS_URL": ISSUER}, "AUTH_ISSUER", "PETS_AUTH_JWKS_URL is set"),
        (
            {"AUTH_INTROSPECTION_URL": ISSUER},
            "AUTH_ISSUER",
            "PETS_AUTH_INTROSPECTION_URL is set",
        ),
        (
            {"AUTH_ISSUER": ISSUER, "AUTH_CLIENT_ID": "a"},
            "AUTH_INTROSPECTION_URL",
            "PETS_AUTH_CLIENT_ID is set",
        ),
        (
            {"AUTH_ISSUER": ISSUER, "AUTH_INTROSPECTION_URL": ISSUER, "AUTH_CLIENT_SECRET": "a"},
            "AUTH_CLIENT_ID",
            "PETS_AUTH_CLIENT_SECRET is set",
        ),
        (
            {"AUTH_ISSUER": f"{ISSUER}, https://other.example", "AUTH_JWKS_URL": ISSUER},
            "AUTH_JWKS_URL",
            "has several",
        ),
        ({"AUTH_ISSUER": "https://accounts.google.com"}, "AUTH_AUDIENCE", "tokens of Google"),
        (
            {"AUTH_ISSUER": "https://a.okta.com", "AUTH_AUDIENCE": "https://a.okta.com"},
            "AUTH_INTROSPECTION_URL",
            "only Okta's organization server itself",
        ),
        ({"AUTH_TOKENS_FILE": "/missing"}, "AUTH_TOKENS_FILE", "must name a readable file"),
    ],
)
def test_a_problem_names_its_setting(settings: dict[str, str], setting: str, text: str) -> None:
    (problem,) = find_problems(**settings)
    assert problem[0] == f"PETS_{setting}"
    assert text in problem[1]


def test_all_problems_are_reported() -> None:
    found = find_problems(AUTH_CLIENT_SECRET="topsecret", AUTH_ISSUER=ISSUER)
    assert [name for name, _ in found] == ["PETS_AUTH_INTROSPECTION_URL", "PETS_AUTH_CLIENT_ID"]
    assert "topsecret" not in str(found)


def test_without_settings_there_is_nothing_to_report_and_no_authorization() -> None:
    environ = {"PETS_AUTH_ISSUER": " ", "PETS_PUBLIC_URL": "nonsense"}
    assert find_authorization_problems(CONTRACT, environ) == []
    assert make_authorization(CONTRACT, environ) is None


def test_the_credential_of_a_scheme_is_no_setting_of_authorization() -> None:
    variables = ["PETS_AUTH_CLIENT_ID", "PETS_AUTH_CLIENT_SECRET"]  # of a scheme called `auth`
    entries = [{"name": name, "scheme": "auth"} for name in variables]
    contract = {**CONTRACT, "environment": entries}
    environ = dict.fromkeys(variables, "a")
    assert find_authorization_problems(contract, environ) == []
    assert make_authorization(contract, environ) is None
    (problem,) = find_authorization_problems(contract, environ | {"PETS_AUTH_SCOPES": "a"})
    assert problem.setting == "PETS_AUTH_ISSUER"


def test_a_missing_extra_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.MODULE_OF_EXTRA, "auth", "no_such_module")
    text = (
        "mcpgen[auth] is not installed, which PETS_AUTH_ISSUER needs:"
        " run `pip install 'mcpgen[auth]'`"
    )
    assert find_problems(AUTH_ISSUER=ISSUER) == [("", text)]


def test_a_server_for_other_machines_needs_its_public_url(tmp_path: Path) -> None:
    environ = {"PETS_AUTH_ISSUER": ISSUER}
    with pytest.raises(ConfigurationError, match="missing PETS_PUBLIC_URL") as caught:
        make_authorization(CONTRACT, environ, is_local=False)
    assert caught.value.setting == "PETS_PUBLIC_URL"
    environ["PETS_PUBLIC_URL"] = "https://pets.example/mcp"
    made = make_authorization(CONTRACT, environ, is_local=False)
    assert made is not None
    file = tmp_path / "tokens"
    file.write_text("")
    assert make_authorization(CONTRACT, {"PETS_AUTH_TOKENS_FILE": str(file)}, is_local=False)
