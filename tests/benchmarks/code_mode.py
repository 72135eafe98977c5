"""Measure code mode: tokens for ten jobs, compared with plain tools and with search tools.

    .venv/bin/pip install bpe-openai     # the tokenizer; without it, 4 bytes count as a token
    .venv/bin/python tests/benchmarks/code_mode.py --github api.github.com.json

A scripted agent does each job three times against the mock of the API: with all tools listed, with
the search tools, and in code mode. Each token is counted once: the definitions, what the agent
writes (arguments, queries, code) and what it reads (results, descriptions). Lists of the mock are
repeated to 40 items.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_jobs import JOBS, Job

from mcpgen.factory.packages import find_package
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import GenerateOptions, Options
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.testing import MockUpstream
from mcpgen.testing.client.client import Client

ROOT = Path(__file__).parents[2]
ITEMS = 40
LEAST_SAVING = 0.80
MOST_DEFINITIONS = 1_000
NO_RESULTS: dict[str, Any] = {}


def make_counter() -> tuple[str, Callable[[str], int]]:
    """Return the name of the tokenizer, and a function that counts tokens."""
    try:
        import bpe_openai
    except ImportError:
        return "4 bytes a token", lambda text: -(-len(text.encode()) // 4)
    encoding = bpe_openai.get_encoding("o200k_base")
    return "o200k_base", lambda text: len(encoding.encode(text))


@dataclass
class Count:
    """Tokens that one job takes in one mode."""

    definitions: int = 0
    exchanged: int = 0
    requests: int = 0  # of the client

    @property
    def total(self) -> int:
        return self.definitions + self.exchanged


class Mock:
    """A mock API whose lists have their items repeated."""

    def __init__(self, directory: Path) -> None:
        self._package = find_package(directory)
        self._mock = MockUpstream(self._package.upstream())

    async def start(self) -> dict[str, str]:
        """Return the environment of a server that calls this API."""
        return self._package.mock_environment(await self._mock.start())

    async def send(self, request: HttpRequest) -> HttpResponse:
        response = await self._mock.send(request)
        try:
            value = json.loads(response.body)
        except ValueError:
            return response
        parts = value if isinstance(value, dict) else {"": value}
        for name, part in parts.items():
            if isinstance(part, list) and part and isinstance(part[0], dict):
                parts[name] = [_number(part[0], number) for number in range(ITEMS)]
        body = parts[""] if isinstance(value, list) else parts
        return HttpResponse(response.status, response.headers, json.dumps(body).encode())


def _number(item: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a copy of a list item with its own number and name."""
    changed = {**item}
    for name in ("number", "id"):
        if isinstance(item.get(name), int):
            changed[name] = number + 1
    if isinstance(item.get("name"), str):
        changed["name"] = f"{item['name']}-{number}"
    return changed


class Agent:
    """A scripted agent that does jobs on one server and counts tokens."""

    def __init__(self, client: Client, count: Callable[[str], int], definitions: int) -> None:
        self._client = client
        self._count = count
        self._definitions = definitions
        self.tally = Count()

    def start(self) -> None:
        self.tally = Count(self._definitions)

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool as the client; count the arguments and the returned text."""
        result = await self._client.call_tool(name, arguments)
        texts = [block.get("text", "") for block in result["content"]]
        if result.get("isError"):
            raise SystemExit(f"{name} failed: {texts}")
        self.tally.requests += 1
        self.tally.exchanged += self._count(_compact({"name": name, "arguments": arguments}))
        self.tally.exchanged += sum(map(self._count, texts))
        return result

    async def call_plainly(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._read_all(name, arguments)

    async def call_found(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._read_all("call_tool", {"name": name, "arguments": arguments})

    async def _read_all(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return the value of a result; make the calls that return the parts cut off."""
        whole = (await self.call(name, arguments)).get("structuredContent")
        part = whole
        while part and (following := part.pop("next_calls", None)):
            call = following[0]
            part = (await self.call(call["name"], call["arguments"]))["structuredContent"]
            for key, value in part.items():
                if isinstance(value, list) and key != "next_calls":
                    whole[key] += value
        return whole["result"] if whole and "result" in whole else whole


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


async def open_agent(
    directory: Path, count: Callable[[str], int], definitions: list[Any] | None = None
) -> Agent:
    sys.path.insert(0, str(directory / "src"))
    name = next((directory / "src").glob("*_mcp")).name
    for module in [it for it in sys.modules if it.partition(".")[0] == name]:
        del sys.modules[module]
    mock = Mock(directory)
    client = Client.in_memory(ServerPackage.load(name), await mock.start(), send=mock.send)
    sys.path.pop(0)
    await client.__aenter__()
    listed = definitions if definitions is not None else await client.list_tools()
    return Agent(client, count, sum(count(_compact(tool)) for tool in listed))


async def search(agent: Agent, job: Job) -> None:
    for query in job.queries:
        await agent.call("search_tools", {"query": query, "limit": 5})


async def do_job(job: Job, plain: Agent, searching: Agent, coding: Agent) -> list[Count]:
    plain.start()
    await job.steps(plain.call_plainly)
    searching.start()
    await search(searching, job)
    for tool in job.tools:
        await searching.call("describe_tool", {"name": tool})
    await job.steps(searching.call_found)
    coding.start()
    await search(coding, job)
    await coding.call("describe_tool", {"name": ", ".join(job.tools)})
    await coding.call("run_code", {"code": job.code})
    return [plain.tally, searching.tally, coding.tally]


def make_servers(name: str, folder: Path, github: Path) -> tuple[Path, Path]:
    """Return the server with all tools and search tools, and the same server in code mode."""
    base, code, cache = folder / f"{name}-plain", folder / f"{name}-code", folder / "cache"
    if code.exists():
        return base, code
    if name == "github":
        options = Options(name=name, external_validator=False, cache=cache)
        report = new(str(github), base, options, lambda _: None)
    else:
        shutil.copytree(ROOT / "generated_examples" / f"{name}-mcp", base)
        manifest = base / "mcpgen.yaml"
        manifest.write_text(f"{manifest.read_text()}\nbudget: 1000\n")  # search mode
        updating = GenerateOptions(external_validator=False, cache=cache)
        report = generate(base, updating, lambda _: None)
    assert report.outcome == "done", list(report.problems)
    shutil.copytree(base, code)
    coding = GenerateOptions(external_validator=False, cache=cache, code=True)
    report = generate(code, coding, lambda _: None)
    assert report.outcome == "done", list(report.problems)
    return base, code


async def measure(github: Path, folder: Path) -> int:
    name, count = make_counter()
    print(f"tokenizer: {name}; lists of {ITEMS} items\n")
    rows: list[tuple[Job, list[Count]]] = []
    definitions: dict[str, int] = {}
    for server in dict.fromkeys(job.server for job in JOBS):
        base, code = make_servers(server, folder, github)
        whole = json.loads(next(base.glob("src/*/_generated/listing.json")).read_text())
        plain = await open_agent(base, count, whole)
        searching = await open_agent(base, count)
        coding = await open_agent(code, count)
        definitions[server] = coding._definitions
        of_server = [job for job in JOBS if job.server == server]
        rows += [(job, await do_job(job, plain, searching, coding)) for job in of_server]
    return report(rows, definitions)


def report(rows: list[tuple[Job, list[Count]]], definitions: dict[str, int]) -> int:
    """Print the tables; return 1 if a goal is missed."""
    is_good = True
    print("| job | loop | requests | plain | search | code | fewer than plain | than search |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for job, (plain, found, coded) in rows:
        than_plain = 1 - coded.total / plain.total
        than_search = 1 - coded.total / found.total
        if job.has_loop:
            is_good &= min(than_plain, than_search) >= LEAST_SAVING
        print(
            f"| {job.server}: {job.goal} | {'yes' if job.has_loop else 'no'} |"
            f" {found.requests} → {coded.requests} | {plain.total:,} | {found.total:,} |"
            f" {coded.total:,} | {than_plain:.1%} | {than_search:.1%} |"
        )
    print("\n| server | tokens of definitions |")
    print("|---|---:|")
    for server, tokens in definitions.items():
        is_good &= tokens <= MOST_DEFINITIONS
        print(f"| {server} | {tokens:,} |")
    return 0 if is_good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--github", type=Path, required=True, help="GitHub's OpenAPI document")
    parser.add_argument("--folder", type=Path, help="where the servers are kept for another run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(options.github, options.folder or Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
