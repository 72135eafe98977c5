"""The server as an ASGI application, for other servers: `uvicorn reonomy_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("reonomy_mcp")
