"""The server as an ASGI application, for other servers: `uvicorn cloud_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("cloud_mcp")
