"""The server as an ASGI application, for other servers: `uvicorn clinic_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("clinic_mcp")
