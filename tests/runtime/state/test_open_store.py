"""Tests of the setting STATE_URL: which store it selects, and errors in its URL."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.contract import extras
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.startup_checks import find_invalid_settings
from mcpgen.runtime.state import open_store
from mcpgen.runtime.state.open_store import open_shared_store
from mcpgen.runtime.state.sqlite_store import SqliteStore

CONTRACT = {"name": "petstore", "env_prefix": "PETSTORE_"}


@pytest.mark.parametrize("url", ["", "memory:"])
def test_a_process_shares_no_store_by_default(url: str) -> None:
    assert open_shared_store(CONTRACT, {"PETSTORE_STATE_URL": url}) is None


def test_the_store_has_the_name_of_the_server(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    store = open_shared_store(CONTRACT, {"PETSTORE_STATE_URL": url})
    assert isinstance(store, SqliteStore)
    assert store._prefix == "petstore:"
    asyncio.run(store.aclose())


@pytest.mark.parametrize(
    "url",
    ["postgres://hunter2", "sqlite:///", "redis://:hunter2@", "redis://host?hunter2=1", "hunter2"],
)
def test_an_invalid_url_is_reported_at_start_by_the_name_of_its_setting(url: str) -> None:
    environ = {"PETSTORE_STATE_URL": url}
    (error,) = find_invalid_settings(CONTRACT, environ)
    assert error.setting == "PETSTORE_STATE_URL"
    assert str(error).startswith("invalid PETSTORE_STATE_URL: ")
    with pytest.raises(ConfigurationError) as caught:
        open_shared_store(CONTRACT, environ)
    assert caught.value.setting == "PETSTORE_STATE_URL"
    assert ":hunter2" not in str(caught.value)


def test_a_file_that_cannot_be_used_is_reported_by_the_name_of_its_setting(tmp_path: Path) -> None:
    environ = {"PETSTORE_STATE_URL": f"sqlite:///{tmp_path}/missing/state.db"}
    assert find_invalid_settings(CONTRACT, environ) == []  # which creates no file
    with pytest.raises(ConfigurationError, match="invalid PETSTORE_STATE_URL: the state file"):
        open_shared_store(CONTRACT, environ)


def test_a_missing_extra_is_reported_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.MODULE_OF_EXTRA, "redis", "module_that_does_not_exist")
    assert not open_store.is_installed("redis")
    (error,) = find_invalid_settings(CONTRACT, {"PETSTORE_STATE_URL": "valkey://localhost"})
    assert str(error) == (
        "PETSTORE_STATE_URL: mcpgen[redis] is not installed: run `pip install 'mcpgen[redis]'`"
    )
    assert error.setting == "PETSTORE_STATE_URL"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "imported"),
    [
        ("", set()),
        ("memory:", set()),
        ("sqlite:///state.db", {"sqlite3"}),
        ("redis://localhost", {"redis"}),
    ],
)
def test_only_the_backend_of_the_url_is_imported(
    tmp_path: Path, url: str, imported: set[str]
) -> None:
    script = """
import asyncio, sys
import mcpgen.runtime.transports.http.server, mcpgen.runtime.handlers.dispatcher
from mcpgen.runtime.state.open_store import open_shared_store
store = open_shared_store({"name": "a", "env_prefix": "A_"}, {"A_STATE_URL": sys.argv[1]})
if store is not None:
    asyncio.run(store.aclose())
print(*{"redis", "valkey", "sqlite3"} & sys.modules.keys())
"""
    done = subprocess.run(
        [sys.executable, "-c", script, url],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert set(done.stdout.split()) == imported


@pytest.mark.slow
def test_a_server_without_the_setting_imports_nothing_of_stores() -> None:
    script = """
import sys
import mcpgen.runtime.transports.http.server, mcpgen.runtime.transports.http.streamable
import mcpgen.runtime.handlers.dispatcher, mcpgen.runtime.package, mcpgen.runtime.state.keys
import mcpgen.runtime.state.request_state, mcpgen.runtime.serving
print(*(it for it in sys.modules if it.startswith("mcpgen.runtime.state.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    imported = {name.removeprefix("mcpgen.runtime.state.") for name in done.stdout.split()}
    assert imported == {"key_ring", "keys", "request_state", "session_store"}
