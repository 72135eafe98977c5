"""A server in code mode, with a small pet shop as its API."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.transports.memory import MemoryConnection
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing.client.client import LEGACY, Answer, Client
from tests.support.imports import importing_anew
from tests.support.paths import REPOSITORY

API_KEY = "key-of-the-operator-4711"
MANIFEST = """\
server: {name: codeshop}
sources: [{document: openapi.yaml}]
code: {max_calls: 12, max_compute_seconds: 1, max_memory_mb: 24, max_runs: 2}
operations:
  deletePet: {confirm: Take this pet out of the shop for good?}
  getInventory: {expose: resource}
  cancelOrder: {expose: off}
authorization:
  scopes: {updateUser: [users:write]}
"""
HOOK = """
from mcpgen.runtime import Context, before


@before("GET /users/{username}")
async def connect(ctx: Context, arguments: dict[str, object]) -> None:
    ctx.require_url("Connect an account.", "https://shop.example/connect", "e-1")
"""
JSON = (("Content-Type", "application/json"),)
PETS = [{"id": n, "name": f"pet {n}", "species": "cat", "status": "available"} for n in range(1, 6)]


@dataclass
class PetShop:
    """The pet shop API: records its requests and answers them."""

    requests: list[str] = field(default_factory=list)
    told: str = ""  # an extra member of each pet
    gate: asyncio.Event | None = None  # holds answers back
    waiting: asyncio.Semaphore | None = None  # released by each request at the gate

    def close_gate(self) -> tuple[asyncio.Event, asyncio.Semaphore]:
        """Block requests until the event is set; the semaphore counts the waiting ones."""
        self.gate, self.waiting = asyncio.Event(), asyncio.Semaphore(0)
        return self.gate, self.waiting

    async def send(self, request: HttpRequest) -> HttpResponse:
        path = request.url.partition("/v1")[2]
        self.requests.append(f"{request.method} {path}")
        if self.gate is not None and self.waiting is not None:
            self.waiting.release()
            await self.gate.wait()
        if request.method == "DELETE":
            return HttpResponse(204, (), b"")
        if path.startswith("/pets/"):
            number = int(path.rpartition("/")[2])
            if number > len(PETS):
                return HttpResponse(404, JSON, b'{"title": "no such pet"}')
            pet = {**PETS[number - 1], "batch": self.told} if self.told else PETS[number - 1]
            return HttpResponse(200, JSON, json.dumps(pet).encode())
        if path.startswith("/pets"):
            return HttpResponse(200, JSON, json.dumps({"items": PETS, "next": None}).encode())
        return HttpResponse(200, JSON, b"{}")


def make_project(folder: Path, manifest: str = MANIFEST, document: str = "petstore.yaml") -> Path:
    """Make a server from a manifest and a document of `specs/`; return its folder."""
    source = folder / "source"
    source.mkdir(parents=True)
    (source / "openapi.yaml").write_bytes((REPOSITORY / "specs" / document).read_bytes())
    (source / "mcpgen.yaml").write_text(manifest)
    options = Options(external_validator=False, cache=folder / "cache")
    report = new(str(source / "mcpgen.yaml"), folder / "server", options, lambda _: None)
    assert report.outcome == "done", list(report.problems)
    return folder / "server"


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_project(tmp_path_factory.mktemp("code"))
    (made / "src" / "codeshop_mcp" / "handlers" / "connecting.py").write_text(HOOK)
    return made


@pytest.fixture
def package(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerPackage]:
    monkeypatch.syspath_prepend(str(project / "src"))
    with importing_anew("codeshop_mcp"):
        yield ServerPackage.load("codeshop_mcp")
    assert "codeshop_mcp" not in sys.modules


@dataclass
class Scene:
    """The server, its API, and clients that connect to it."""

    package: ServerPackage
    shop: PetShop = field(default_factory=PetShop)
    settings: dict[str, str] = field(
        default_factory=lambda: {
            "CODESHOP_API_KEY": API_KEY,
            "CODESHOP_BEARER": "token-of-the-operator-0815",
            "CODESHOP_STATE_KEYS": "0123456789abcdef0123456789abcdef",
        }
    )

    access: Access | None = None
    capabilities: dict[str, Any] | None = None  # by default, those for the answers

    def client(self, revision: str = LEGACY, answers: dict[str, Answer] | None = None) -> Client:
        """Return a client that is not yet connected."""
        dispatcher = self.package.make_dispatcher(self.settings, send=self.shop.send)
        connection = MemoryConnection(self.package.definition, dispatcher)
        connection.access = self.access
        return Client(connection, revision, answers=answers, capabilities=self.capabilities)

    def talk(
        self,
        story: Callable[[Client], Awaitable[Any]],
        revision: str = LEGACY,
        answers: dict[str, Answer] | None = None,
    ) -> Any:
        """Run a conversation with a client, and return its result."""

        async def whole() -> Any:
            async with asyncio.timeout(60), self.client(revision, answers) as client:
                return await story(client)

        return asyncio.run(whole())

    def run(self, code: str, **options: Any) -> dict[str, Any]:
        """Run code with `run_code`; return the result of the call."""
        result: dict[str, Any] = self.talk(
            lambda client: client.call_tool("run_code", {"code": code}), **options
        )
        return result


@pytest.fixture
def scene(package: ServerPackage) -> Scene:
    return Scene(package)


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def answer_of(result: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a result that is not an error."""
    assert not result.get("isError"), text_of(result)
    answer: dict[str, Any] = json.loads(text_of(result))
    return answer


def list_workers() -> set[str]:
    """Return the ids of the sandbox processes that this process started."""
    workers = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it has ended meanwhile
            if int(status[1]) == os.getpid() and b"monty" in command and status[0] != "Z":
                workers.add(folder.name)
    return workers
