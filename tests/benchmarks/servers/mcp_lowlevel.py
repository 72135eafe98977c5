"""The low-level server of the official SDK, over stdio or HTTP: `mcp_lowlevel.py TOOLS [PORT]`."""

import asyncio
import sys

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

COUNT = int(sys.argv[1])
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["text", "times"],
}
TOOLS = [
    types.Tool(name=f"repeat_{index}", description="Repeat a text.", input_schema=SCHEMA)
    for index in range(COUNT)
]


async def list_tools(ctx, params):
    """Return all tools on one page."""
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(ctx, params):
    """Return the text, repeated."""
    text = params.arguments["text"] * params.arguments["times"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


server = Server("bench", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_stdio():
    """Serve one client over stdio."""
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if len(sys.argv) > 2:
    import uvicorn

    app = server.streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
else:
    asyncio.run(over_stdio())
