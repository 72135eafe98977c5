"""Search tools with FastMCP: `fastmcp_search.py FILE` answers each line of stdin with a line.

It runs in FastMCP's own environment. FILE is an OpenAPI document in JSON, a line of stdin is a
question, and its answer is a JSON list of operations ("GET /path"), the best first.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import httpx2
from fastmcp import Client, FastMCP
from fastmcp.server.providers.openapi import OpenAPITool
from fastmcp.server.transforms.search import BM25SearchTransform


async def answer(document: dict[str, Any], questions: list[str]) -> None:
    """Make a server of the document and search five tools for each question."""
    server = FastMCP.from_openapi(
        document, httpx2.AsyncClient(base_url="https://api.example.com"), validate_output=False
    )
    operations = {}
    for tool in await server.list_tools():
        assert isinstance(tool, OpenAPITool)
        route = tool._route  # no public member states the operation
        operations[tool.name] = f"{route.method} {route.path}"
    server.add_transform(BM25SearchTransform(max_results=5))
    async with Client(server) as client:
        for question in questions:
            found = await client.call_tool("search_tools", {"query": question})
            tools = (found.structured_content or {}).get("result", [])
            print(json.dumps([operations[tool["name"]] for tool in tools]), flush=True)


logging.disable()
lines = sys.stdin.read().splitlines()
asyncio.run(answer(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), lines))
