"""The server as an ASGI application, for other servers: `uvicorn surveys_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("surveys_mcp")
