"""Print the tools that FastMCP makes of an OpenAPI document in JSON, one JSON line for each.

`fastmcp_listing.py FILE` runs in FastMCP's own environment. A line has `operation` ("GET /path")
and `definition`, the tool as `tools/list` has it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import httpx2
from fastmcp import FastMCP
from fastmcp.server.providers.openapi import OpenAPITool


async def list_tools(document: dict[str, Any]) -> None:
    """Make a server of the document and print its tools."""
    client = httpx2.AsyncClient(base_url="https://api.example.com")
    for tool in await FastMCP.from_openapi(document, client).list_tools():
        assert isinstance(tool, OpenAPITool)
        definition = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)
        definition.pop("_meta", None)  # tags of FastMCP, which models do not see
        route = tool._route  # no public member states the operation
        print(json.dumps({"operation": f"{route.method} {route.path}", "definition": definition}))


logging.disable()
asyncio.run(list_tools(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
