"""The server as an ASGI application, for other servers: `uvicorn storefront_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("storefront_mcp")
