"""Tests that a client cannot replay `requestState`, on the same or another server process."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.test_invalid_settings import assert_refused, start
from tests.support.attack.api import HostileApi
from tests.support.attack.documents import api_document
from tests.support.attack.server import (
    MODERN,
    PREFIX,
    AttackedServer,
    Bystander,
    HttpClient,
    generate,
    serve_http,
    serve_stdio,
)
from tests.support.redis_server import RedisServer

KEYS, OTHER_KEYS = "k" * 40, "o" * 40
SETTING = f"{PREFIX}STATE_KEYS"
HANDLERS = '''
from mcpgen.runtime import Context, Features

features = Features()


@features.tool()
async def greet(ctx: Context, *, greeting: str) -> dict[str, object]:
    """Greet a user by name."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answer = await ctx.elicit("What is your name?", schema)
    return {"text": f"{greeting}, {answer.content}"}
'''
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = generate(tmp_path_factory.mktemp("sealed"), api_document())
    (project / "src/attacked_mcp/handlers/greeting.py").write_text(HANDLERS)
    return project


@pytest.fixture
def api_settings() -> Iterator[dict[str, str]]:
    with HostileApi() as api:
        yield {f"{PREFIX}BASE_URL": api.base_url}


def greet(server: AttackedServer, greeting: str = "Hello", **params: Any) -> dict[str, Any]:
    """Call the tool that asks the user; return the JSON-RPC response."""
    called = {"name": "greet", "arguments": {"greeting": greeting}, "_meta": META, **params}
    message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": called}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "greet"}
    with HttpClient(server.port) as client:
        answer: dict[str, Any] = client.post(message, headers)
        return answer


def begin(server: AttackedServer) -> dict[str, Any]:
    """Begin a call; return the params that the client sends once the user has answered."""
    result = greet(server)["result"]
    assert result["resultType"] == "input_required", result
    (key,) = result["inputRequests"]
    response = {"action": "accept", "content": {"name": "Ada"}}
    return {"inputResponses": {key: response}, "requestState": result["requestState"]}


def is_refused(answer: dict[str, Any]) -> bool:
    return bool(answer.get("error", {}).get("code") == -32602)


def test_a_request_state_is_accepted_once_and_only_for_its_call(
    project: Path, api_settings: dict[str, str]
) -> None:
    with serve_http(project, api_settings) as server:
        with Bystander(server) as bystander:
            answered = begin(server)
            assert is_refused(greet(server, "Goodbye", **answered))
            assert "Ada" in str(greet(server, **answered)["result"])
            for _ in range(20):
                assert is_refused(greet(server, **answered))
            time.sleep(0.3)  # the bystander is served twice
        bystander.check()


@pytest.mark.parametrize(
    ("first", "second"),
    [({}, {}), ({SETTING: KEYS}, {}), ({SETTING: KEYS}, {SETTING: OTHER_KEYS})],
    ids=["no keys", "keys at one", "other keys"],
)
def test_a_request_state_is_rejected_by_another_process(
    project: Path, api_settings: dict[str, str], first: dict[str, str], second: dict[str, str]
) -> None:
    with (
        serve_http(project, {**api_settings, **first}) as one,
        serve_http(project, {**api_settings, **second}) as two,
    ):
        with Bystander(two) as bystander:
            answered = begin(one)
            assert is_refused(greet(two, **answered))
            assert "Ada" in str(greet(one, **answered)["result"])
            assert is_refused(greet(two, **answered))
            time.sleep(0.3)
        bystander.check()


def test_processes_with_the_same_keys_continue_each_others_calls(
    project: Path, api_settings: dict[str, str]
) -> None:
    environ = {**api_settings, SETTING: KEYS}
    with (
        serve_http(project, environ, "--no-sessions") as one,
        serve_http(project, environ, "--no-sessions") as two,
    ):
        answered = begin(one)
        assert "Ada" in str(greet(two, **answered)["result"])
        assert is_refused(greet(two, **answered))


@pytest.mark.parametrize("backend", ["sqlite", "redis"])
def test_replicas_with_one_store_accept_a_request_state_once(
    project: Path, api_settings: dict[str, str], tmp_path: Path, backend: str
) -> None:
    with ExitStack() as running:
        if backend == "redis":
            store = running.enter_context(RedisServer(tmp_path))
            url = store.url
        else:
            url = f"sqlite:///{tmp_path / 'state.db'}"
        environ = {**api_settings, SETTING: KEYS, f"{PREFIX}STATE_URL": url}
        one, two = (
            running.enter_context(serve_http(project, environ, "--no-sessions")) for _ in range(2)
        )
        answered = begin(one)
        assert "Ada" in str(greet(two, **answered)["result"])
        for server in (one, two):
            assert is_refused(greet(server, **answered))
            assert SETTING not in server.log  # there is nothing to warn of
        if backend == "redis":
            begun = begin(one)
            store.stop()
            failed = greet(one, **begun)
            assert "the state store cannot be reached" in str(failed), failed
            assert greet(two)["result"]["resultType"] == "input_required"  # needs no store
            store.start()
            answer = greet(two, **begun)
            while "cannot be reached" in str(answer):
                time.sleep(0.01)
                answer = greet(two, **begun)
            assert "Ada" in str(answer["result"])


def test_several_processes_do_not_start_without_common_keys(project: Path) -> None:
    done = start(project, {}, "--http", "--port", "0", "--no-sessions")
    assert_refused(done, SETTING)
    checked = start(project, {}, "--http", "--no-sessions", "--check-env")
    assert checked.returncode == 1
    assert f"error: {SETTING} must be set with --no-sessions" in checked.stdout


@pytest.mark.parametrize(
    ("environ", "arguments", "reported"),
    [
        ({}, (), f"{SETTING} is not set"),
        ({SETTING: KEYS}, (), ""),
        ({SETTING: KEYS}, ("--no-sessions",), f"each process with these {SETTING}"),
    ],
    ids=["no keys", "keys", "several processes"],
)
def test_the_server_warns_at_start_about_unprotected_request_states(
    project: Path,
    api_settings: dict[str, str],
    environ: dict[str, str],
    arguments: tuple[str, ...],
    reported: str,
) -> None:
    serving: AbstractContextManager[AttackedServer] = serve_http(
        project, {**api_settings, **environ}, *arguments
    )
    with serving as server:
        warnings = [line for line in server.log.splitlines() if SETTING in line]
    assert len(warnings) == bool(reported)
    assert reported in "".join(warnings)


def test_a_stdio_server_starts_without_a_warning_about_state_keys(project: Path) -> None:
    with serve_stdio(project, {}, stderr=subprocess.PIPE) as server:
        assert server.process.communicate(timeout=60)[1] == b""
