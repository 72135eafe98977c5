"""Authorize with the OAuth flow of the fastmcp 4.1.6 client, then call tools.

Run by that package's own interpreter. Reads a JSON object on stdin: `url`, `user` and `calls` as
[tool, arguments] pairs. Prints the tools and the results. fastmcp's own callback server receives
the redirect.
"""

import asyncio
import json
import sys

import httpx2
from fastmcp import Client
from fastmcp.client.auth import OAuth


class Browserless(OAuth):
    """fastmcp's OAuth flow with an HTTP client in place of a browser."""

    user = ""

    async def redirect_handler(self, authorization_url):
        """Follow the redirects of the authorization server up to the callback."""

        async def visit():
            async with httpx2.AsyncClient(follow_redirects=True) as browser:
                for _ in range(100):  # until the callback server listens
                    try:
                        await browser.get(f"{authorization_url}&login_hint={self.user}")
                    except httpx2.ConnectError:
                        await asyncio.sleep(0.1)
                    else:
                        return

        self.visiting = asyncio.create_task(visit())


async def drive(order):
    """Authorize, list the tools and make the calls."""
    Browserless.user = order["user"]
    async with Client(order["url"], auth=Browserless()) as client:
        tools = [tool.name for tool in await client.list_tools()]
        results = [
            (await client.call_tool(tool, arguments, raise_on_error=False)).structured_content
            for tool, arguments in order["calls"]
        ]
    return {"tools": tools, "results": results}


print(json.dumps(asyncio.run(asyncio.wait_for(drive(json.load(sys.stdin)), 60))))
