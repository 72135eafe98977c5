"""The server as an ASGI application, for other servers: `uvicorn everything_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("everything_mcp")
