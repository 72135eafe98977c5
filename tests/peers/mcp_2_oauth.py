"""Authorize with the OAuth flow of the `mcp` 2.3.0 client, then call tools.

Run by that package's own interpreter. Reads a JSON object on stdin: `url`, `mode` ("legacy" or
"auto"), `user`, `redirect` (the redirect URI), `calls` as [tool, arguments] pairs, and
optionally `client_id` and `client_secret` of a registered client or `metadata_url` of a client
metadata document. Prints what the client understood, the scopes that it requested and its HTTP
exchanges.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata


class Storage:
    """Storage of the tokens and the client of one run."""

    def __init__(self, client):
        self.client, self.tokens = client, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def drive(order):
    """Authorize, list the tools and make the calls."""
    visited, answers, exchanges = [], [], []

    async def record(response):
        """Record an HTTP exchange without its secrets."""
        request = response.request
        line = f"{request.method} {request.url.copy_with(query=None)} -> {response.status_code}"
        challenge = response.headers.get("www-authenticate", "")
        exchanges.append(f"{line} {challenge}".strip())

    async def visit(url):
        """Visit the authorization URL like the user's browser; the server redirects at once."""
        visited.append(url)
        async with httpx2.AsyncClient(event_hooks={"response": [record]}) as browser:
            found = await browser.get(f"{url}&login_hint={order['user']}")
        answers.append(parse_qs(urlsplit(found.headers["location"]).query))

    async def read_callback():
        query = {name: values[0] for name, values in answers[-1].items()}
        return AuthorizationCodeResult(
            code=query["code"], state=query.get("state"), iss=query.get("iss")
        )

    metadata = OAuthClientMetadata(client_name="tour", redirect_uris=[order["redirect"]])
    registered = None
    if "client_id" in order:
        registered = OAuthClientInformationFull(
            client_id=order["client_id"],
            client_secret=order["client_secret"],
            redirect_uris=[order["redirect"]],
            token_endpoint_auth_method="client_secret_basic",
        )
    provider = OAuthClientProvider(
        order["url"],
        metadata,
        Storage(registered),
        visit,
        read_callback,
        client_metadata_url=order.get("metadata_url"),
    )
    hooks = {"response": [record]}
    async with httpx2.AsyncClient(auth=provider, timeout=30, event_hooks=hooks) as http:
        transport = streamable_http_client(order["url"], http_client=http)
        async with Client(transport, mode=order["mode"]) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            results = []
            for tool, arguments in order["calls"]:
                result = await client.call_tool(tool, arguments)
                results.append(result.model_dump(by_alias=True, mode="json", exclude_none=True))
            revision = client.protocol_version
    scopes = [parse_qs(urlsplit(url).query).get("scope", [""])[0] for url in visited]
    return {
        "revision": revision,
        "tools": tools,
        "results": results,
        "scopes": scopes,
        "exchanges": exchanges,
    }


print(json.dumps(asyncio.run(asyncio.wait_for(drive(json.load(sys.stdin)), 60))))
