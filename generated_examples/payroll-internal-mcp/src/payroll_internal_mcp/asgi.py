"""The server as an ASGI application, for other servers: `uvicorn payroll_internal_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("payroll_internal_mcp")
