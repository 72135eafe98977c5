"""The server as an ASGI application, for other servers: `uvicorn telescope_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("telescope_mcp")
