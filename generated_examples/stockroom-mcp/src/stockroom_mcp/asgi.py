"""The server as an ASGI application, for other servers: `uvicorn stockroom_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("stockroom_mcp")
