"""The server as an ASGI application, for other servers: `uvicorn fleet_telemetry_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("fleet_telemetry_mcp")
