"""The server as an ASGI application, for other servers: `uvicorn competitor_research_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("competitor_research_mcp")
