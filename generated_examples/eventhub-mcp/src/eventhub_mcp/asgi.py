"""The server as an ASGI application, for other servers: `uvicorn eventhub_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("eventhub_mcp")
