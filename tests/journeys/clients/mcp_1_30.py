"""Client of the official Python SDK before 2026-07-28: `mcp-1.30.0 SERVER [TOOL [ARGUMENTS]]`.

Run by that package's own interpreter. It starts the server over stdio, prints what it lists or what
the tool returned, and answers what it is asked with `$ANSWER` ("accept" by default).
"""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from talk import Talk


async def main():
    talk = Talk(sys.argv[1:])

    async def answer(context, params):
        action, content = talk.answer(params.message)
        return types.ElicitResult(action=action, content=content)

    server = StdioServerParameters(command=talk.server, env=dict(os.environ))
    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, elicitation_callback=answer) as client,
    ):
        opened = await client.initialize()
        await talk.hold(client, opened.protocolVersion)


asyncio.run(asyncio.wait_for(main(), 120))
