"""The server as an ASGI application, for other servers: `uvicorn ledger_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("ledger_mcp")
