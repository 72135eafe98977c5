"""Tests of `login` and `logout` of a stdio server, with an authorization server and a browser."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import keyring
import pytest
from aiohttp import ClientSession
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from mcpgen.runtime.errors import ConfigurationError, ToolError, UsageError
from mcpgen.runtime.login.commands import run_command
from mcpgen.runtime.login.redirect import RedirectListener
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.serving import serve
from mcpgen.runtime.upstream.auth import token_store
from mcpgen.runtime.upstream.auth.token_store import (
    FileTokens,
    Tokens,
    hold_lock,
    open_token_store,
)
from mcpgen.testing.client.client import Client
from tests.support.authorization_server import AuthorizationServer, Browser
from tests.support.callers import PETSTORE
from tests.support.http_server import Client as HttpClient
from tests.support.http_server import make_app


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set up an empty user state folder and no keyring; return the server's part of it."""
    monkeypatch.syspath_prepend(str(PETSTORE))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(keyring, "get_keyring", lambda: _NoKeyring())
    return tmp_path / "petstore-mcp"


class _NoKeyring:
    priority = 0


class _Keyring(KeyringBackend):
    """A keyring in memory."""

    priority = 5  # type: ignore[assignment]  # a class property in `keyring`

    def __init__(self) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.passwords[service, username]


class Setup:
    """A petstore whose scheme `bearer` uses an authorization server."""

    def __init__(self, server: AuthorizationServer, scheme: dict[str, Any] | None = None) -> None:
        self.server = server
        self.package = ServerPackage.load("petstore_mcp")
        contract = self.package.contract
        contract["security_schemes"]["bearer"] = scheme or server.scheme
        contract["credentials"] = {"bearer": {"from": "user"}}
        contract["environment"] = [
            {"name": f"PETSTORE_BEARER_{part.upper()}", "scheme": "bearer", "part": part}
            for part in ("client_id", "client_secret")
        ]
        self.environ = {
            **os.environ,
            "PETSTORE_BASE_URL": f"{server.url}/api",
            "PETSTORE_BEARER_CLIENT_ID": "petstore-client",
        }

    async def run(self, *arguments: str, browser: Browser | None = None) -> int:
        """Run a command as a process would, in a thread with its own event loop."""
        opener = (browser or Browser()).open
        return await asyncio.to_thread(
            run_command, self.package, arguments, self.environ, open_browser=opener
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with Client.in_memory(self.package, self.environ) as client:
            yield client


async def get_user(client: Client) -> tuple[bool, str]:
    result = await client.call_tool("get_user", {"username": "ann"})
    return bool(result.get("isError")), json.dumps(result)


def run(scenario: Any) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await scenario

    asyncio.run(bounded())


def test_login_in_a_browser_lets_calls_use_the_account(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            browser = Browser()
            async with setup.client() as client:
                is_error, text = await get_user(client)
                assert is_error
                assert "`petstore-mcp login bearer`" in text
                assert await setup.run("login", browser=browser) == 0
                # The running server needs no restart.
                assert await get_user(client) == (False, (await get_user(client))[1])
            assert server.api_tokens == ["access-1", "access-1"]
            (asked,) = server.authorizations
            assert asked["client_id"] == "petstore-client"
            assert asked["code_challenge_method"] == "S256"
            assert asked["redirect_uri"].startswith("http://127.0.0.1:")
            assert "Logged in" in browser.pages[0]
            (form,) = server.token_requests
            assert form["redirect_uri"] == asked["redirect_uri"]

    run(scenario())
    shown = capsys.readouterr().out
    assert "You are logged in to `bearer`" in shown
    assert f"a file in {state}, which only you can read" in shown
    assert "access-1" not in shown
    (file,) = state.glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_results_do_not_have_the_token() -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            async with setup.client() as client:
                is_error, text = await get_user(client)
                assert not is_error
                assert "seen by ***" in text

    run(scenario())


def test_expired_tokens_are_renewed_once_for_concurrent_calls() -> None:
    async def scenario() -> None:
        async with AuthorizationServer(lifetime=1).listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            stored = open_token_store("petstore-mcp", setup.environ)
            tokens = stored.load("bearer")
            assert tokens is not None
            stored.save("bearer", Tokens("access-1", 0.0, "refresh-1", tokens.scopes))
            server.lifetime = 3600
            # Two processes of the same user: refresh tokens are valid for one use.
            async with setup.client() as one, setup.client() as other:
                results = await asyncio.gather(*(get_user(it) for it in [one, other] * 5))
            assert not any(is_error for is_error, _ in results)
            assert set(server.api_tokens) == {"access-2"}
            assert len(server.token_requests) == 2

    run(scenario())


def test_a_token_that_the_api_refuses_is_renewed() -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            server.refused.add("access-1")
            async with setup.client() as client:
                assert not (await get_user(client))[0]
                server.refused.add("access-2")
                server.valid_refresh.clear()  # revoked by the user at the provider
                is_error, text = await get_user(client)
                assert is_error
                assert "`petstore-mcp login bearer`" in text
            assert server.api_tokens == ["access-1", "access-2", "access-2"]

    run(scenario())


def test_logout_revokes_and_deletes(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            assert await setup.run("logout") == 0
            assert server.revoked == ["refresh-1"]
            assert FileTokens(state).load("bearer") is None
            async with setup.client() as client:
                assert (await get_user(client))[0]
            assert await setup.run("logout") == 0

    run(scenario())
    shown = capsys.readouterr().out
    assert "The tokens of `bearer` are revoked and deleted." in shown
    assert "Nobody is logged in to `bearer`." in shown


@pytest.mark.parametrize("backend", [_NoKeyring(), _Keyring()], ids=["file", "keyring"])
def test_a_running_server_follows_the_logins_and_logouts_of_its_user(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider cannot revoke tokens, so the API would still accept them."""
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)

    async def scenario() -> None:
        async with AuthorizationServer(has_metadata=False).listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            async with setup.client() as client:
                assert not (await get_user(client))[0]
                assert await setup.run("logout") == 0
                is_error, text = await get_user(client)
                assert is_error
                assert "`petstore-mcp login bearer`" in text
                assert await setup.run("login") == 0
                assert not (await get_user(client))[0]
                assert await setup.run("login") == 0  # without a logout
                assert not (await get_user(client))[0]
            assert server.revoked == []
            assert server.api_tokens == ["access-1", "access-2", "access-3"]

    run(scenario())


def test_a_running_server_reads_unchanged_tokens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []

    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            monkeypatch.setattr(
                FileTokens,
                "load",
                lambda self, scheme, load=FileTokens.load: (
                    loads.append(scheme) or load(self, scheme)
                ),
            )
            async with setup.client() as client:
                for _ in range(3):
                    assert not (await get_user(client))[0]
                assert loads == ["bearer"]
                server.refused.add("access-1")
                assert not (await get_user(client))[0]  # renews
                assert not (await get_user(client))[0]
                assert loads == ["bearer", "bearer"]  # the second time with the lock

    run(scenario())


def test_logout_without_revocation_says_what_remains(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with AuthorizationServer(has_metadata=False).listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            assert await setup.run("logout") == 0

    run(scenario())
    assert "could not revoke them" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decision": "access_denied"}, "did not grant access (`access_denied`)"),
        ({"issuer_in_redirect": "https://evil.example"}, "another authorization server"),
    ],
)
def test_a_refused_login_stores_nothing(
    options: Any, said: str, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        async with AuthorizationServer(**options).listening() as server:
            assert await Setup(server).run("login") == 1
            assert server.token_requests == []

    run(scenario())
    assert said in capsys.readouterr().err
    assert not state.exists()


def test_the_redirect_of_another_request_does_not_end_the_login() -> None:
    async def scenario() -> None:
        listener = RedirectListener(lambda parameters: parameters.get("state") == "expected")
        async with listener.listen(), ClientSession() as session:
            base = listener.redirect_uri
            for wrong in (
                "?state=other&code=x",
                "?code=x",
                "?state=expected&state=other&code=x",
                "x?state=expected&code=x",
            ):
                async with session.get(base + wrong) as response:
                    assert response.status in {400, 404}
            async with session.post(f"{base}?state=expected&code=x") as response:
                assert response.status == 404
            assert not listener._received.done()
            async with session.get(f"{base}?state=expected&code=right") as response:
                assert response.status == 200
                assert response.headers["referrer-policy"] == "no-referrer"
            assert await listener.wait() == {"state": "expected", "code": "right"}

    run(scenario())


def test_a_document_with_the_device_flow_needs_no_browser(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scenario() -> None:
        async with AuthorizationServer(pending=2).listening() as server:
            setup = Setup(server, server.device_scheme)
            assert await setup.run("login") == 0
            assert server.authorizations == []
            polls = [form for form in server.token_requests if "device_code" in form]
            assert len(polls) == 3
            assert polls[0]["device_code"] == "the-device-code"
            async with setup.client() as client:
                assert not (await get_user(client))[0]

    run(scenario())
    shown = capsys.readouterr().out
    assert "/enter on any device, and enter the code WDJB-MJHT" in shown
    assert "the-device-code" not in shown


def test_the_device_flow_can_be_chosen_where_metadata_has_it() -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            assert await Setup(server).run("login", "bearer", "--device") == 0
            assert server.authorizations == []

    run(scenario())


def test_the_keyring_is_used_if_there_is_one(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = _Keyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)

    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            assert list(backend.passwords) == [("petstore-mcp", "bearer")]
            async with setup.client() as client:
                assert not (await get_user(client))[0]
            assert await setup.run("logout") == 0
            assert backend.passwords == {}

    run(scenario())
    assert "the keyring of this system" in capsys.readouterr().out
    assert not list(state.glob("*.json"))


def test_a_keyring_that_is_locked_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = _Keyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)

    def fail(*_: str) -> None:
        raise KeyringLocked("the text of the library")

    monkeypatch.setattr(backend, "set_password", fail)

    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            with pytest.raises(ConfigurationError, match=r"KeyringLocked.*: unlock it"):
                await Setup(server).run("login")

    run(scenario())


def test_a_login_is_not_overwritten_by_a_renewal_of_older_tokens(state: Path) -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            async with hold_lock(state, "bearer"):  # as a server does that renews tokens
                login = asyncio.create_task(setup.run("login"))
                finished, _ = await asyncio.wait({login}, timeout=0.5)
                assert not finished
                store = FileTokens(state)
                store.save("bearer", Tokens("older", 0.0))
            assert await login == 0
            assert store.load("bearer") != Tokens("older", 0.0)

    run(scenario())


def test_the_accounts_of_two_schemes_are_stored_apart(tmp_path: Path) -> None:
    store = FileTokens(tmp_path)
    store.save("bearer", Tokens("one", 0.0))
    store.save("../other", Tokens("two", 0.0))
    store.delete("bearer")
    assert store.load("bearer") is None
    assert store.load("../other") == Tokens("two", 0.0)


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileTokens(tmp_path / "file")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        store.save("bearer", Tokens("one", 0.0))


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys, pathlib, time\n"
        "from mcpgen.runtime.upstream.auth.token_store import hold_lock\n"
        "async def main():\n"
        "    async with hold_lock(pathlib.Path(sys.argv[1]), 'bearer'):\n"
        "        print('locked', flush=True)\n"
        "        time.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]

    async def scenario() -> None:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == b"locked\n"
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(token_store, "LOCK_SECONDS", 0.1)
                    with pytest.raises(ToolError, match="Another process has used the account"):
                        await hold_lock(tmp_path, "bearer").__aenter__()
                async with hold_lock(tmp_path, "other"):
                    pass
            finally:
                process.kill()
        async with hold_lock(tmp_path, "bearer"):
            pass

    run(scenario())


def test_a_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    store = FileTokens(tmp_path)
    store.save("bearer", Tokens("access", 0.0))
    (file,) = tmp_path.iterdir()
    file.chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        store.load("bearer")


def test_a_login_needs_the_client_of_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            del setup.environ["PETSTORE_BEARER_CLIENT_ID"]
            with pytest.raises(ConfigurationError, match="missing PETSTORE_BEARER_CLIENT_ID"):
                await setup.run("login")
            async with setup.client() as client:
                is_error, text = await get_user(client)
                assert is_error
                assert "PETSTORE_BEARER_CLIENT_ID" in text

    run(scenario())


@pytest.mark.parametrize(
    ("sources", "arguments", "said"),
    [
        ({}, ("login",), "has no login"),
        ({"bearer": {"from": "user"}}, ("login", "other"), "unknown security scheme `other`"),
    ],
)
def test_an_invalid_command_states_why(sources: Any, arguments: Any, said: str) -> None:
    package = ServerPackage.load("petstore_mcp")
    package.contract["credentials"] = sources
    with pytest.raises(UsageError, match=said):
        run_command(package, arguments, {})


@pytest.mark.parametrize("source", ["user", "exchange"])
def test_the_help_names_the_commands_of_servers_that_have_them(
    source: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = {"bearer": {"from": source}}
    monkeypatch.setattr(
        ServerPackage,
        "_read_contract",
        lambda self, read=ServerPackage._read_contract: read(self) | {"credentials": sources},
    )
    with pytest.raises(SystemExit):
        serve("petstore_mcp", ["--help"])
    assert ("\n  login " in capsys.readouterr().out) == (source == "user")


def test_the_server_runs_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve("petstore_mcp", ["login"]) == 2
    assert "has no login" in capsys.readouterr().err


def test_callers_over_http_do_not_use_the_account_of_the_local_user() -> None:
    async def scenario() -> None:
        async with AuthorizationServer().listening() as server:
            setup = Setup(server)
            assert await setup.run("login") == 0
            dispatcher = setup.package.make_dispatcher(setup.environ)
            app = make_app(setup.package, dispatcher)
            call = {"name": "get_user", "arguments": {"username": "ann"}}
            response = await HttpClient(app).post_modern("tools/call", call)
            assert response.json["result"]["isError"]
            assert server.api_tokens == []
            await dispatcher.aclose()

    run(scenario())
