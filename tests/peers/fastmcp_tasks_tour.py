"""Run tasks of everything-mcp with the `fastmcp-tasks` 4.1.4 client, in its own environment.

Reads `command` and `environment`, or `url`, as JSON on stdin. Prints what the client understood.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from fastmcp_tasks import call_tool_task


async def elicit(message, response_type, params, context):
    return ElicitResult(action="accept", content={"confirm": True, "name": "ada"})


async def tour(order):
    if "url" in order:
        server = StreamableHttpTransport(order["url"])
    else:
        program, *arguments = order["command"]
        server = StdioTransport(command=program, args=arguments, env=order["environment"])
    async with Client(server, mode="auto", elicitation_handler=elicit) as client:

        async def text_of(tool, **arguments):
            return (await client.call_tool(tool, arguments)).content[0].text

        async def fail_with(tool):
            try:
                await client.call_tool(tool, {})
            except ToolError as error:
                return str(error)
            return "nothing"

        handle = await call_tool_task(client, "slow_compute", {"seconds": 1, "label": "a report"})
        states = [(await handle.status()).status]
        states.append((await handle.wait()).status)
        result = (await handle.result()).content[0].text
        cancelled = await call_tool_task(client, "slow_compute", {"seconds": 60})
        await cancelled.cancel()
        return {
            "greeted": await text_of("greet", name="ada"),
            "computed": await text_of("slow_compute", seconds=0.2, label="it"),
            "confirmed": await text_of("confirm_delete", filename="old.txt"),
            "answered": await text_of("multi_input"),
            "failed": await fail_with("failing_job"),
            "broken": await fail_with("protocol_error_job"),
            "states": states,
            "result": result,
            "cancelled": (await cancelled.wait()).status,
        }


print(json.dumps(asyncio.run(tour(json.load(sys.stdin)))))
