"""The server as an ASGI application, for other servers: `uvicorn ticketing_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("ticketing_mcp")
