"""The server as an ASGI application, for other servers: `uvicorn meta_ads_mcp.asgi:app`."""

from mcpgen.runtime.asgi import AsgiApplication

app = AsgiApplication("meta_ads_mcp")
