"""The server as an ASGI application, for other servers: `uvicorn tenants_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("tenants_mcp")
