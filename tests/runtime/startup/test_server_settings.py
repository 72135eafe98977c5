"""Tests of the settings table: every row is checked, and errors name the setting, not its value."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpgen.contract.limits import DEFAULT_LIMITS, LIMIT_NAMES, Limits
from mcpgen.contract.server_settings import (
    BY_NAME,
    GROUPS,
    SERVER_SETTINGS,
    list_applicable,
)
from mcpgen.contract.setting_kinds import ServerSetting
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.limits import read_limits
from mcpgen.runtime.startup.server_secrets import list_server_secrets
from mcpgen.runtime.startup.server_settings import ServerSettings, find_misspelt
from mcpgen.runtime.startup.settings_help import format_settings
from mcpgen.runtime.startup.startup_checks import find_invalid_settings
from tests.support.paths import REPOSITORY
from tests.support.stdio_process import write_package

PREFIX = "SHOP_"
CONTRACT: dict[str, Any] = {
    "name": "shop",
    "env_prefix": PREFIX,
    "environment": [
        {"name": "SHOP_API_KEY", "scheme": "key", "part": "value", "secret": True},
        {"name": "SHOP_CA_FILE"},
    ],
    "security_schemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
}
INVALID = {
    "choice": ["loud", "INFO ", "info,debug"],
    "https_url": ["http://shop.example", "ftp://shop.example", "https://u:p@a.b", "https://a.b/#c"],
    "https_urls": ["https://a.example,http://b.example", "a.example"],
    "integer": ["x", "-1", "1.5", "1_0", "٣", "9" * 20, "0x10", "1e3"],
    "list": ["a\x07b"],
    "number": ["x", "nan", "inf", "-1", "1_0", "1e400", "10s"],
    "proxy": ["socks5://a.example", "http://", "http://a.example/path", "http://a b"],
    "rate": ["60", "60/fortnight", "0/minute", "-1/second", "1.5/second", "60 / minute"],
    "scopes": ['read "write"', "läse"],
    "state_url": ["mysql://a.example", "sqlite:", "redis:6379", "memories"],
    "switch": ["yes", "2", "on"],
    "text": ["a\x07b"],
}


@pytest.mark.parametrize("setting", SERVER_SETTINGS, ids=lambda it: it.name)
def test_an_invalid_value_is_reported_by_name_and_not_shown(setting: ServerSetting) -> None:
    name = PREFIX + setting.name
    for text in INVALID[setting.kind]:
        if setting.kind == "choice" and text.strip() in setting.choices:
            continue
        found = find_invalid_settings(CONTRACT, {name: text})
        assert [error.setting for error in found] == [name], text
    (error,) = find_invalid_settings(CONTRACT, {name: "canary\x07"})
    assert name in str(error)
    assert "canary" not in str(error)


@pytest.mark.parametrize("setting", SERVER_SETTINGS, ids=lambda it: it.name)
def test_a_number_beyond_its_bounds_is_invalid(setting: ServerSetting) -> None:
    if setting.kind not in ("integer", "number"):
        return
    for bound, beyond in ((setting.minimum, -1), (setting.maximum, 1)):
        within = ServerSettings(PREFIX, {PREFIX + setting.name: f"{bound:.15g}"})
        assert within.get(setting.name) == bound
        outside = ServerSettings(PREFIX, {PREFIX + setting.name: f"{bound + beyond:.15g}"})
        with pytest.raises(ConfigurationError, match=rf"invalid {PREFIX}{setting.name}: expected"):
            outside.get(setting.name)


@pytest.mark.parametrize("setting", SERVER_SETTINGS, ids=lambda it: it.name)
def test_the_default_is_valid_and_a_blank_value_is_none(setting: ServerSetting) -> None:
    assert setting.group in GROUPS
    assert setting.description.endswith(".")
    settings = ServerSettings(PREFIX, {PREFIX + setting.name: "  "})
    assert not settings.is_set(setting.name)
    assert settings.get(setting.name) == ServerSettings(PREFIX, {}).get(setting.name)


def test_names_are_unique_and_groups_are_together() -> None:
    assert len(BY_NAME) == len(SERVER_SETTINGS)
    groups = list(dict.fromkeys(setting.group for setting in SERVER_SETTINGS))
    assert groups == list(GROUPS)
    assert sorted(SERVER_SETTINGS, key=lambda it: groups.index(it.group)) == list(SERVER_SETTINGS)


def test_each_limit_has_a_setting_with_its_default() -> None:
    assert [it.limit for it in SERVER_SETTINGS if it.limit] == sorted(
        LIMIT_NAMES, key=lambda name: list(BY_NAME).index(name.upper())
    )
    settings = ServerSettings(PREFIX, {})
    for name in LIMIT_NAMES:
        assert settings.get(name.upper()) == getattr(DEFAULT_LIMITS, name)


def test_the_environment_comes_before_the_manifest_and_the_manifest_before_the_default() -> None:
    contract = CONTRACT | {"limits": {"timeout_seconds": 20, "max_attempts": 2}}
    limits = read_limits(contract, {"SHOP_TIMEOUT_SECONDS": "5", "SHOP_MAX_QUEUED": "0"})
    assert (limits.timeout_seconds, limits.max_attempts, limits.max_queued) == (5, 2, 0)
    assert limits.max_concurrent == DEFAULT_LIMITS.max_concurrent
    settings = ServerSettings.from_contract(contract, {})
    assert settings.get("TIMEOUT_SECONDS") == 20


def test_without_settings_the_limits_are_the_defaults() -> None:
    assert read_limits(CONTRACT, {"SHOP_API_KEY": "x", "TIMEOUT_SECONDS": "1"}) is DEFAULT_LIMITS
    assert Limits().timeout_seconds == 60
    assert vars(DEFAULT_LIMITS) == {}  # no instance changes the class


def test_a_credential_that_had_the_name_first_keeps_it() -> None:
    credential = {"name": "SHOP_PROXY", "scheme": "key", "secret": True}
    contract = CONTRACT | {"environment": [credential]}
    environ = {"SHOP_PROXY": "no proxy but a key"}
    assert find_invalid_settings(contract, environ) == []
    assert ServerSettings.from_contract(contract, environ).get("PROXY") is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("SHOP_TIMEOUT", "SHOP_TIMEOUT_SECONDS"),
        ("SHOP_TIMEOUT_SECOND", "SHOP_TIMEOUT_SECONDS"),
        ("SHOP_MAX_ATEMPTS", "SHOP_MAX_ATTEMPTS"),
        ("SHOP_APIKEY", "SHOP_API_KEY"),
        ("SHOP_API_KEY_FIEL", "SHOP_API_KEY_FILE"),
        ("SHOP_LOGLEVEL", "SHOP_LOG_LEVEL"),
    ],
)
def test_a_misspelt_setting_gets_a_suggestion(written: str, meant: str) -> None:
    assert list(find_misspelt(CONTRACT, {written: "secret"})) == [
        f"unknown setting {written}: did you mean {meant}?"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "SHOP_DATABASE", "SHOP_URL", "SHOPS_TIMEOUT_SECOND", "TIMEOUT_SECOND", "SHOP_API_KEY_FILE",
        "SHOP_PROXY", "SHOP_STATE_KEYS_FILE", "SHOP_TOOLSET", "SHOP_FILE_ROOTS",
    ],
)  # fmt: skip
def test_other_variables_get_no_warning(name: str) -> None:
    assert list(find_misspelt(CONTRACT, {name: "x"})) == []


def test_a_server_without_an_api_has_no_settings_for_one() -> None:
    names = {setting.name for setting in list_applicable(PREFIX, ())}
    assert "LOG_LEVEL" in names
    assert names.isdisjoint({"PROXY", "TIMEOUT_SECONDS", "CA_FILE", "FILE_ROOTS", "TOOLSET"})
    with_api = {setting.name for setting in list_applicable(PREFIX, {"SHOP_CA_FILE"})}
    assert {"PROXY", "TIMEOUT_SECONDS"} <= with_api


def test_help_lists_each_setting_once_with_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    contract = CONTRACT | {"limits": {"timeout_seconds": 20}}
    lines = list(format_settings(contract))
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    for setting in list_applicable(PREFIX, {"SHOP_CA_FILE"}):
        assert (
            text.count(f"  {PREFIX}{setting.name}\n") + text.count(f"  {PREFIX}{setting.name} ")
            == 1
        ), setting.name
    assert "(default: 20)" in text
    assert text.index("SHOP_API_KEY") < text.index("SHOP_TIMEOUT_SECONDS")


def test_secrets_of_own_settings_are_known_to_the_redactor() -> None:
    environ = {
        "SHOP_STATE_URL": "redis://me:canary-1%2B@store.example",
        "SHOP_STATE_KEYS": f"{'canary-2' * 4},{'canary-3' * 4}",
        "SHOP_PROXY": "http://me:canary-4@proxy.example",
        "SHOP_AUTH_CLIENT_SECRET": "canary-5",
    }
    secrets = list_server_secrets(CONTRACT, environ)
    expected = ("canary-1+", "canary-1%2B", "canary-2" * 4, "canary-3" * 4, "canary-4", "canary-5")
    assert set(expected) <= set(secrets)
    assert "canary-6" in list_server_secrets(
        CONTRACT, {"HTTPS_PROXY": "http://me:canary-6@proxy.example"}
    )
    assert list_server_secrets(CONTRACT, {"SHOP_API_KEY": "x"}) == ()


@pytest.mark.slow
def test_a_server_with_invalid_settings_does_not_start_and_names_all_of_them(
    tmp_path: Path,
) -> None:
    folder = write_package(tmp_path)
    prefix = "SMALL_"
    environ = {
        f"{prefix}TIMEOUT_SECONDS": "canary-1",
        f"{prefix}LOG_LEVEL": "canary-2",
        f"{prefix}RATE_LIMIT": "canary-3",
        f"{prefix}STATE_URL_FILE": "/canary-4",
        f"{prefix}MAX_CALL": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "small_mcp"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), "."]), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "canary" not in done.stderr
    for name in list(environ)[:4]:
        assert done.stderr.count(name) == 1
    assert f"did you mean {prefix}MAX_CALLS?" in done.stderr
