"""Tour everything-mcp with the `mcp` 2.3.0 client, in its own environment.

Reads `mode` ("legacy", "auto" or a modern revision) and `command` and `environment`, or `url`, as
JSON on stdin. Prints what the client understood.
"""

import asyncio
import json
import sys

from everything_visit import Visit, program
from mcp import Client


async def tour(order):
    visit = Visit()
    server = order["url"] if "url" in order else program(order)
    client = Client(server, mode=order["mode"], log_level="info", **visit.answers())
    async with client:
        seen = await visit.see(client) | {"revision": client.protocol_version}
    return {**seen, "logged": len(visit.logged)}


print(json.dumps(asyncio.run(asyncio.wait_for(tour(json.load(sys.stdin)), 50))))
