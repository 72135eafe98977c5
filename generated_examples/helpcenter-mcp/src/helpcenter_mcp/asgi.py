"""The server as an ASGI application, for other servers: `uvicorn helpcenter_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("helpcenter_mcp")
