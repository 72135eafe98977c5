"""The server as an ASGI application, for other servers: `uvicorn bookshop_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("bookshop_mcp")
