"""The server as an ASGI application, for other servers: `uvicorn n8n_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("n8n_mcp")
