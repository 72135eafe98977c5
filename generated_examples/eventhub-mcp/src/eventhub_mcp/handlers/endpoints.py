"""Hand-written overrides of the `endpoints` tools."""

import ipaddress
from urllib.parse import urlsplit

from mcpgen.runtime import Context, ToolError, override

from eventhub_mcp._generated.calls import PostEndpointsCall
from eventhub_mcp._generated.models import Endpoint, EndpointDraft


@override("POST /endpoints")
async def create_endpoint(
    ctx: Context, call_next: PostEndpointsCall, *, body: EndpointDraft
) -> Endpoint:
    """Create an endpoint: `POST /endpoints`.

    The hub accepts addresses that it cannot reach, and disables them three days later. Models
    often take the address of the machine on which the user develops.
    """
    if reason := find_fault(body["url"]):
        raise ToolError(f"the hub cannot deliver to {body['url']}: {reason}")
    return await call_next(ctx, body=body)


def find_fault(url: str) -> str:
    """Return why the hub cannot reach an address, or an empty text."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return "the address must begin with `https://`"
    if host == "localhost" or host.endswith((".local", ".internal", ".localhost")):
        return "its host is known on this machine or in this network only"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "" if "." in host else "its host has no domain"
    return "" if address.is_global else "its host is a private address"
