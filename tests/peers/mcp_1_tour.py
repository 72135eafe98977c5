"""Tour everything-mcp with the `mcp` 1.30.0 client, in its own environment.

Reads `mode` (the revision to ask for) and `command` and `environment`, or `url`, as JSON on stdin.
Prints what the client understood.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from everything_visit import Visit, program
from mcp import ClientSession, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def tour(order):
    visit, changes = Visit(), []
    both_changes = asyncio.Event()

    async def hear(message):
        if isinstance(message, types.ServerNotification):
            method = message.root.method
            if method.endswith(("changed", "updated")):
                changes.append(method)
            if len(changes) == 2:
                both_changes.set()

    async with AsyncExitStack() as stack:
        if "url" in order:
            read, write, _ = await stack.enter_async_context(streamablehttp_client(order["url"]))
        else:
            read, write = await stack.enter_async_context(stdio_client(program(order)))
        client = await stack.enter_async_context(
            ClientSession(read, write, message_handler=hear, **visit.answers())
        )
        types.LATEST_PROTOCOL_VERSION = order["mode"]  # what `initialize` asks for
        opened = await client.initialize()
        await client.subscribe_resource("test://watched-resource")
        seen = await visit.see(client)
        await client.call_tool("test_trigger_resource_update", {})
        await client.call_tool("test_trigger_tool_change", {})
        await both_changes.wait()  # they may come on a stream of their own
    seen |= {"revision": opened.protocolVersion, "logged": len(visit.logged)}
    return {**seen, "changes": changes}


print(json.dumps(asyncio.run(asyncio.wait_for(tour(json.load(sys.stdin)), 50))))
