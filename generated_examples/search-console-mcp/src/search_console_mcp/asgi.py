"""The server as an ASGI application, for other servers: `uvicorn search_console_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("search_console_mcp")
