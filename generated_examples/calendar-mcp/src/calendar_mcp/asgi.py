"""The server as an ASGI application, for other servers: `uvicorn calendar_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("calendar_mcp")
