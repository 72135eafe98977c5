"""The server as an ASGI application, for other servers: `uvicorn chatdesk_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("chatdesk_mcp")
