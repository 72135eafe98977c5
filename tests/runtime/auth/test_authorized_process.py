"""Tests of a server process with authorization: startup errors, and what it serves."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_server import modern
from tests.support.issuer import running_issuer
from tests.support.paths import REPOSITORY
from tests.support.stdio_process import SECONDS, write_package

pytestmark = pytest.mark.slow


def environment(folder: Path, **settings: str) -> dict[str, str]:
    paths = os.pathsep.join([str(folder), str(REPOSITORY)])
    own = {f"SMALL_{name}": value for name, value in settings.items()}
    return {**os.environ, "PYTHONPATH": paths, **own}


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "small_mcp", *arguments],
        env=environment(folder, **settings),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_inconsistent_settings_prevent_the_start_over_http(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    settings = {"AUTH_CLIENT_SECRET": "topsecret", "AUTH_ISSUER": "http://id.example"}
    ended = run(folder, "--http", "--port", "0", **settings)
    assert ended.returncode == 2
    assert ended.stderr == (
        "error: invalid SMALL_AUTH_ISSUER: expected an https URL without user name and fragment\n"
    )
    ended = run(folder, "--http", "--port", "0", AUTH_CLIENT_SECRET="topsecret")
    assert ended.returncode == 2
    assert "missing SMALL_AUTH_INTROSPECTION_URL" in ended.stderr
    assert "topsecret" not in ended.stderr


def test_check_env_reports_inconsistent_settings(tmp_path: Path) -> None:
    ended = run(write_package(tmp_path), "--check-env", AUTH_AUDIENCE="api://pets")
    assert ended.returncode == 1
    assert "error: missing SMALL_AUTH_ISSUER: SMALL_AUTH_AUDIENCE is set" in ended.stdout


def test_other_machines_are_served_only_with_authorization(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    everywhere = ("--http", "--host", "0.0.0.0", "--port", "0")
    ended = run(folder, *everywhere)
    assert ended.returncode == 2
    assert "--allow-remote" in ended.stderr
    ended = run(folder, *everywhere, AUTH_ISSUER="https://id.example")
    assert ended.returncode == 2
    assert "missing SMALL_PUBLIC_URL" in ended.stderr


def test_the_command_token_prints_a_token_and_its_line(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    ended = run(folder, "token", "ci", "pets:read", "pets:write")
    assert (ended.returncode, ended.stderr) == (0, "")
    _, token, _, _, line = ended.stdout.splitlines()
    assert line == f"ci {sha256(token.encode()).hexdigest()} pets:read pets:write"
    for arguments in ((), ("a b",), ("ci", "a b")):
        ended = run(folder, "token", *arguments)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "small-mcp token NAME" in ended.stderr


def test_without_authorization_nothing_of_it_is_imported(tmp_path: Path) -> None:
    folder = write_package(tmp_path)

    async def serve() -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-X", "importtime", "-m", "small_mcp", "--http", "--port", "0"),
            env=environment(folder),
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        imported = ""
        while "served at" not in imported:
            imported += (await process.stderr.readline()).decode()
        process.terminate()
        imported += (await process.stderr.read()).decode()
        await process.wait()
        return imported

    imported = asyncio.run(asyncio.wait_for(serve(), SECONDS))
    assert "mcpgen.runtime.transports.http.streamable" in imported
    assert "joserfc" not in imported
    assert set(re.findall(r"mcpgen\.runtime\.auth\.(\w+)", imported)) <= {"access"}
    assert "transports.http.authorization" not in imported


def test_a_server_for_all_machines_takes_tokens_of_its_issuer(tmp_path: Path) -> None:
    folder = write_package(tmp_path)

    async def scenario() -> None:
        async with running_issuer("/realms/pets") as issuer:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "small_mcp", "--http", "--host", "0.0.0.0"),
                *("--port", "0", "--sse"),
                env=environment(
                    folder,
                    AUTH_ISSUER=issuer.identifier,
                    AUTH_SCOPES="mcp",
                    PUBLIC_URL="https://pets.example/mcp",
                ),
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                assert process.stderr is not None
                line = (await process.stderr.readline()).decode()
                port = int(re.findall(r"0\.0\.0\.0:(\d+)/mcp", line)[0])
                token = issuer.token("https://pets.example/mcp", scope="mcp")
                status, head, _ = await post(port, "")
                assert status == 401
                assert "https://pets.example/.well-known/oauth-protected-resource/mcp" in head
                status, _, body = await post(port, token)
                assert (status, body["result"]["structuredContent"]) == (200, {"text": "hi"})
                status, _, _ = await post(port, issuer.token("https://other.example/mcp"))
                assert status == 401
                await issuer.stop()
                status, _, body = await post(port, token)
                assert status == 200
            finally:
                process.terminate()
                rest = (await process.stderr.read()).decode() if process.stderr else ""
                assert await process.wait() == 0
            assert token not in rest

    asyncio.run(asyncio.wait_for(scenario(), SECONDS))


async def post(port: int, token: str) -> tuple[int, str, Any]:
    """Send a call on a new connection, as through a proxy that preserves the Host header."""
    body = json.dumps(modern("tools/call", {"name": "echo", "arguments": {"text": "hi"}})).encode()
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        (
            "POST /mcp HTTP/1.1\r\nHost: pets.example\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            "Mcp-Method: tools/call\r\nMcp-Name: echo\r\nConnection: close\r\n"
            f"{authorization}Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        + body
    )
    received = await reader.read()
    writer.close()
    head, _, answer = received.decode().partition("\r\n\r\n")
    return int(head.split()[1]), head, json.loads(answer)
