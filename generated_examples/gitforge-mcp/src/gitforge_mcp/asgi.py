"""The server as an ASGI application, for other servers: `uvicorn gitforge_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("gitforge_mcp")
