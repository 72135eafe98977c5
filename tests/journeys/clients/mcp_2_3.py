"""Client of the official Python SDK for 2026-07-28: `mcp-2.3.0 SERVER [TOOL [ARGUMENTS]]`.

Otherwise as `mcp_1_30.py`.
"""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters, types
from talk import Talk


async def main():
    talk = Talk(sys.argv[1:])

    async def answer(context, params):
        action, content = talk.answer(params.message)
        return types.ElicitResult(action=action, content=content)

    server = StdioServerParameters(command=talk.server, env=dict(os.environ))
    async with Client(server, mode="auto", elicitation_callback=answer) as client:
        await talk.hold(client, client.protocol_version)


asyncio.run(asyncio.wait_for(main(), 120))
