"""The server as an ASGI application, for other servers: `uvicorn weather_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("weather_mcp")
