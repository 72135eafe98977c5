"""The server as an ASGI application, for other servers: `uvicorn filebox_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("filebox_mcp")
