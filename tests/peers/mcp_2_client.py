"""Drive a server with the `mcp` 2.3.0 client, in its own environment.

Reads a JSON object on stdin: `mode` ("legacy", "auto" or a modern revision), `command` and
`environment` or `url`, and `calls` as [tool, arguments] pairs. Prints what the client understood.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def drive(order):
    """List all pages of tools, then make the calls."""
    if "url" in order:
        server = order["url"]
    else:
        program, *arguments = order["command"]
        server = StdioServerParameters(command=program, args=arguments, env=order["environment"])
    async with Client(server, mode=order["mode"]) as client:
        names, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        results = []
        for tool, arguments in order["calls"]:
            result = await client.call_tool(tool, arguments)
            results.append(result.model_dump(by_alias=True, mode="json", exclude_none=True))
        return {
            "revision": client.protocol_version,
            "tools": names,
            "results": results,
        }


print(json.dumps(asyncio.run(asyncio.wait_for(drive(json.load(sys.stdin)), 60))))
