"""The server as an ASGI application, for other servers: `uvicorn petstore_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("petstore_mcp")
