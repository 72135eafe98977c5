"""Tests of secrets from files: `<SETTING>_FILE`, as containers mount them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.secret_files import (
    MAX_SECRET_BYTES,
    ResolvedEnvironment,
    read_secret,
)
from mcpgen.runtime.startup.server_settings import ServerSettings
from mcpgen.runtime.upstream.client import ApiClient

CONTRACT: dict[str, Any] = {
    "name": "shop",
    "env_prefix": "SHOP_",
    "environment": [
        {"name": "SHOP_API_KEY", "scheme": "key", "part": "value", "secret": True},
        {"name": "SHOP_CA", "scheme": "ca", "part": "value", "secret": True},
        {"name": "SHOP_CA_FILE"},
    ],
    "security_schemes": {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "ca": {"type": "apiKey", "in": "header", "name": "X-Ca"},
    },
}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "canary-path"
    file.write_text("canary-value\n")
    return file


def resolve(**environ: object) -> ResolvedEnvironment:
    return ResolvedEnvironment(CONTRACT, {name: str(value) for name, value in environ.items()})


def reject(resolved: ResolvedEnvironment, setting: str) -> str:
    (error,) = resolved.problems
    assert error.setting == setting
    assert setting in str(error)
    assert "canary" not in str(error)
    return str(error)


def test_a_credential_is_read_from_its_file(secret: Path) -> None:
    resolved = resolve(SHOP_API_KEY_FILE=secret, SHOP_OTHER="x")
    assert resolved.environ == {"SHOP_API_KEY": "canary-value", "SHOP_OTHER": "x"}
    assert resolved.from_files == {"SHOP_API_KEY"}
    assert resolved.problems == []


def test_a_secret_of_the_runtime_is_read_from_its_file(secret: Path) -> None:
    resolved = resolve(SHOP_AUTH_CLIENT_SECRET_FILE=secret)
    assert resolved.environ == {"SHOP_AUTH_CLIENT_SECRET": "canary-value"}
    unresolved = ServerSettings("SHOP_", {"SHOP_AUTH_CLIENT_SECRET_FILE": str(secret)})
    assert unresolved.get("AUTH_CLIENT_SECRET") == "canary-value"
    assert unresolved.is_set("AUTH_CLIENT_SECRET")


def test_without_files_the_environment_is_used_as_it_is() -> None:
    environ = {"SHOP_API_KEY": "x", "SHOP_API_KEY_FILE": " "}
    assert ResolvedEnvironment(CONTRACT, environ).environ is environ


def test_a_setting_that_ends_in_file_is_no_file_of_another(secret: Path) -> None:
    resolved = resolve(SHOP_CA_FILE=secret, SHOP_AUTH_TOKENS_FILE=secret, SHOP_AUDIT_FILE=secret)
    assert resolved.from_files == frozenset()
    assert resolved.environ["SHOP_CA_FILE"] == str(secret)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"x\n", "x"),
        (b"x\r\n", "x"),
        (b"x", "x"),
        (b"x\n\n", "x\n"),
        (b" x \n", " x "),
        ("clé".encode(), "clé"),
        (b"y" * MAX_SECRET_BYTES, "y" * MAX_SECRET_BYTES),
    ],
)
def test_one_line_end_is_removed(tmp_path: Path, content: bytes, value: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    assert read_secret("SHOP_API_KEY", {"SHOP_API_KEY_FILE": str(file)}) == value


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"canary" * MAX_SECRET_BYTES, "is longer than 65536 bytes"),
        (b"canary\xff", "must name a readable file with text in UTF-8"),
    ],
)
def test_an_unusable_file_is_reported_by_the_name_of_the_setting(
    tmp_path: Path, content: bytes, text: str
) -> None:
    file = tmp_path / "canary"
    file.write_bytes(content)
    assert text in reject(resolve(SHOP_API_KEY_FILE=file), "SHOP_API_KEY_FILE")


def test_a_missing_file_is_reported_by_the_name_of_the_setting(tmp_path: Path) -> None:
    for path in (tmp_path / "canary", tmp_path, "canary\0"):
        reject(resolve(SHOP_API_KEY_FILE=path), "SHOP_API_KEY_FILE")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_that_nobody_writes_does_not_block_the_start(tmp_path: Path) -> None:
    pipe = tmp_path / "canary"
    os.mkfifo(pipe)
    reject(resolve(SHOP_API_KEY_FILE=pipe), "SHOP_API_KEY_FILE")


def test_a_value_and_a_file_together_are_an_error(secret: Path) -> None:
    resolved = resolve(SHOP_API_KEY="canary", SHOP_API_KEY_FILE=secret)
    assert reject(resolved, "SHOP_API_KEY_FILE") == (
        "SHOP_API_KEY and SHOP_API_KEY_FILE are both set: remove one of them"
    )
    with pytest.raises(ConfigurationError, match="both set"):
        read_secret("X", {"X": "canary", "X_FILE": str(secret)})


def test_the_redactor_knows_a_secret_from_a_file(secret: Path) -> None:
    client = ApiClient(CONTRACT, resolve(SHOP_API_KEY_FILE=secret).environ)
    assert "canary" not in client.get_redactor().clean("it is canary-value")
