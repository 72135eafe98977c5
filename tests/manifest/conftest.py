"""The bookshop with a test's own manifest, generated and called in this process."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.packages import find_package
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing import LEGACY, Client, MockUpstream
from mcpgen.testing.client.client import Answer
from mcpgen.testing.mock.replies import Reply
from tests.manifest.fleet import Fleet
from tests.support.generated_files import tool_contracts
from tests.support.imports import importing_anew
from tests.support.paths import SPECS

HEAD = "server: {name: bookshop}\nsources: [{document: openapi.yaml}]\nmodels: false\n"


class Shop:
    """A project whose manifest tests replace, and its server with a mock API."""

    package = "bookshop_mcp"
    base_url = "https://shop.example"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.replies: list[dict[str, Any]] = []  # of the API, in turn, in the form of cases

    def generate(self, manifest: str, *more: str, head: str = HEAD) -> int:
        """Write the manifest and run `mcpgen generate`; return its exit code."""
        (self.folder / "mcpgen.yaml").write_text(head + manifest)
        return run(["generate", str(self.folder), *more])

    def contract(self, tag: str) -> dict[str, Any]:
        path = self.folder / f"src/bookshop_mcp/_generated/tools/{tag}.json"
        tools: dict[str, Any] = tool_contracts(self.folder)
        return {name: tools[name] for name in json.loads(path.read_bytes())["tools"]}

    def talk(
        self,
        *requests: tuple[str, dict[str, Any]],
        revision: str = LEGACY,
        answers: Mapping[str, Answer] | None = None,
    ) -> tuple[Sequence[Any], MockUpstream, Sequence[Any]]:
        """Send requests; return the results, the mock API, and all messages to the client."""
        found = find_package(self.folder)
        mock = MockUpstream(found.upstream(), base_url=self.base_url)

        async def send(request: HttpRequest) -> HttpResponse:
            if self.replies:
                mock.reply_with(Reply.from_json(self.replies.pop(0)))
            return await mock.send(request)

        async def converse() -> tuple[list[Any], list[Any]]:
            package = ServerPackage.load(self.package)
            environ = found.mock_environment(self.base_url)
            client = Client.in_memory(
                package, environ, send=send, revision=revision, answers=answers
            )
            async with client:
                results = [await client.request_answering(*request) for request in requests]
                return results, client.received

        results, received = asyncio.run(asyncio.wait_for(converse(), 30))
        return results, mock, received

    def call(self, tool: str, arguments: dict[str, Any], **options: Any) -> Any:
        (result,), mock, _ = self.talk(
            ("tools/call", {"name": tool, "arguments": arguments}), **options
        )
        return result, mock.requests

    def run_suite(self) -> str:
        """Run the generated tests of the project; return pytest's output, or "" if they pass."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "-x",
            "-p",
            "no:cacheprovider",
            "tests/generated",
        ]
        environ = find_package(self.folder).environment()
        done = subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False
        )
        return "" if done.returncode == 0 else done.stdout


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manifest") / "bookshop-mcp"
    source = SPECS / "bookshop.yaml"
    assert run(["new", str(source), str(folder), "--name", "bookshop", "--no-models", "-q"]) == 0
    return folder


@pytest.fixture
def shop(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    folder = shutil.copytree(made, tmp_path / "bookshop-mcp")
    monkeypatch.syspath_prepend(folder / "src")
    with importing_anew("bookshop_mcp"):
        yield Shop(folder)


@pytest.fixture(scope="session")
def made_fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Fleet.make(tmp_path_factory.mktemp("settings") / "fleet-mcp").folder


@pytest.fixture
def fleet(made_fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    folder = shutil.copytree(made_fleet, tmp_path / "fleet-mcp")
    monkeypatch.syspath_prepend(folder / "src")
    with importing_anew("fleet_mcp"):
        yield Fleet(folder)
