"""The server as an ASGI application, for other servers: `uvicorn harbor_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("harbor_mcp")
