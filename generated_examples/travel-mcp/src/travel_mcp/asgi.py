"""The server as an ASGI application, for other servers: `uvicorn travel_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("travel_mcp")
