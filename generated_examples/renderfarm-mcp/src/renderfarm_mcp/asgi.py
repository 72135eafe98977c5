"""The server as an ASGI application, for other servers: `uvicorn renderfarm_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("renderfarm_mcp")
