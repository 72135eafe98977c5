"""The server as an ASGI application, for other servers: `uvicorn twilio_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("twilio_mcp")
