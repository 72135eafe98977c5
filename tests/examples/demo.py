"""Demo: generate an MCP server from an OpenAPI document, and call its tools: `make demo`.

Shows the tree that was generated, the tools, and for each call the HTTP request that reached the
API (a mock made from the same document) and the result that came back: over stdio, then over HTTP.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcpgen.cli.app import run
from mcpgen.factory.packages import GeneratedPackage, find_package
from mcpgen.testing import MockUpstream
from mcpgen.testing.client.client import MODERN, Client

DOCUMENT = Path("specs/petstore.yaml")
PROJECT = Path(".cache/demo/petstore-mcp")
START_SECONDS = 30
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_pets", {"status": ["available", "reserved"], "tag": ["quiet", "a b&c"], "limit": 2}),
    ("create_pet", {"name": "Rex", "species": "dog"}),
    ("get_pet", {"pet_id": 42}),
    ("get_pet", {"pet_id": 0}),  # breaks the schema's minimum: nothing is sent
]


def main() -> int:
    """Generate the server, show its files, and call its tools."""
    shutil.rmtree(PROJECT, ignore_errors=True)
    command = ["new", str(DOCUMENT), str(PROJECT), "--defaults"]
    heading(f"$ mcpgen {' '.join(command)}")
    if code := run(command):
        return code
    heading("What it wrote")
    for line in drawn(PROJECT):
        print(line)
    asyncio.run(call_it(find_package(PROJECT)))
    return 0


async def call_it(package: GeneratedPackage) -> None:
    """Make the calls over both transports, with a mock API behind the server."""
    upstream = MockUpstream(package.upstream())
    environment = package.environment(package.mock_environment(await upstream.start()))
    try:
        async with await Client.over_stdio(package.command, environment) as client:
            await show("over stdio, revision 2025-11-25", client, upstream)
        async with (
            serving_http(package, environment) as url,
            Client.over_http(url, revision=MODERN) as client,
        ):
            await show(f"over HTTP at {url}, revision {MODERN}", client, upstream)
    finally:
        await upstream.stop()


@asynccontextmanager
async def serving_http(
    package: GeneratedPackage, environment: dict[str, str]
) -> AsyncIterator[str]:
    """Start the server over HTTP on a free port; yield the URL that it prints."""
    server = await asyncio.create_subprocess_exec(
        *package.command, "--http", "--port", "0", env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            url = await announced_url(server)
        yield url
    finally:
        server.terminate()
        await server.wait()


async def announced_url(server: asyncio.subprocess.Process) -> str:
    assert server.stderr is not None
    while line := (await server.stderr.readline()).decode():
        for word in line.split():
            if word.startswith("http://"):
                return word.rstrip(".,")
    raise RuntimeError("the server never said where it listens")


async def show(title: str, client: Client, upstream: MockUpstream) -> None:
    """List the tools and make the calls; print each request to the API and each result."""
    tools = await client.list_tools()
    heading(f"tools/list {title}")
    for tool in tools:
        print(f"  {tool['name']:<18} {tool['title']}")
    for name, arguments in CALLS:
        upstream.forget()
        heading(f"{name} {json.dumps(arguments)}")
        result = await client.call_tool(name, arguments)
        for request in upstream.requests:
            print(f"  sent      {request}")
            for header, value in request.headers:
                print(f"            {header}: {value}")
            if request.body:
                print(f"            {request.body.decode()}")
            print(f"  answered  {request.response.status} {request.response.body.decode()}")
        if not upstream.requests:
            print("  sent      nothing")
        print(f"  result    {'error: ' if result.get('isError') else ''}{shown(result)}")


def shown(result: dict[str, Any]) -> str:
    if "structuredContent" in result:
        return json.dumps(result["structuredContent"])
    return " ".join(content.get("text", content["type"]) for content in result["content"])


def heading(text: str) -> None:
    print(f"\n== {text}", flush=True)


def drawn(folder: Path, depth: int = 0) -> Iterator[str]:
    """Draw a tree of files, with folders after files, each sorted by name."""
    yield f"{'  ' * depth}{folder.name}/"
    entries = sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name))
    for path in entries:
        if path.is_dir():
            yield from drawn(path, depth + 1)
        else:
            yield f"{'  ' * (depth + 1)}{path.name}"


if __name__ == "__main__":
    raise SystemExit(main())
