"""A host of MCP Apps in a browser, which shows one view with results chosen by a test."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.protocol.jsonrpc import JsonObject
from tests.support.browser import Browser, Page
from tests.support.views import CAPABILITIES

PAGE = Path(__file__).with_name("view_host.html")


def read_view(package: ServerPackage, tool: str) -> JsonObject:
    """Return the contents of the view of a tool, as a client reads them."""
    definition = package.definition.for_client(CAPABILITIES)
    assert definition.views is not None
    uri = f"ui://{definition.info['name']}/{tool}"
    contents = definition.views.read(definition, uri)
    assert contents is not None
    return contents


def make_policy(meta: JsonObject) -> str:
    """Return the policy that a host enforces ("Content Security Policy Enforcement")."""
    csp = meta["ui"].get("csp", {})
    origins = " ".join(csp.get("resourceDomains", []))
    return (
        "default-src 'none'; "
        f"script-src 'self' 'unsafe-inline' {origins}; style-src 'self' 'unsafe-inline' {origins}; "
        f"connect-src 'self' {' '.join(csp.get('connectDomains', []))}; "
        f"img-src 'self' data: {origins}; font-src 'self' {origins}; "
        f"media-src 'self' data: {origins}; frame-src 'none'; object-src 'none'; base-uri 'self'"
    )


class ViewHost:
    """The pages of the host, and the requests that they made."""

    def __init__(self, contents: JsonObject, result: JsonObject | None) -> None:
        self.contents = contents
        self.result = result
        self.requested: list[str] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.requested.append(request.path)
        if request.path == "/":
            return web.Response(body=PAGE.read_bytes(), content_type="text/html")
        if request.path == "/result":
            return web.json_response(self.result)
        if request.path == "/view":
            headers = {"Content-Security-Policy": make_policy(self.contents["_meta"])}
            text = self.contents["text"]
            return web.Response(text=text, content_type="text/html", headers=headers)
        return web.Response(status=404)


async def received(page: Page, method: str, *, count: int = 0) -> list[Any]:
    """Return the params of the view's messages of a method, once there are `count`."""
    find = f"window.received.filter((it) => it.method === {method!r})"
    await page.wait_for(f"{find}.length >= {count}", in_frame=False)
    found: list[Any] = await page.evaluate(f"{find}.map((it) => it.params ?? null)", in_frame=False)
    return found


async def tell_view(page: Page, method: str, params: Any) -> None:
    """Send a notification to the view."""
    sent = f"window.notifyView({method!r}, {json.dumps(params)})"
    await page.evaluate(sent, in_frame=False)


async def click(page: Page, label: str) -> None:
    """Wait for the button with this label, and click it."""
    find = f"[...document.querySelectorAll('button')].find((it) => it.textContent === {label!r})"
    await page.wait_for(f"{find} !== undefined")
    await page.evaluate(f"{find}.click()")


@asynccontextmanager
async def shown(
    browser: Browser,
    contents: JsonObject,
    result: JsonObject | None = None,
    *,
    size: tuple[int, int] = (760, 640),
    scheme: str = "light",
    **settings: Any,
) -> AsyncIterator[tuple[Page, ViewHost]]:
    """Show a view in the host; `settings` are those of view_host.html."""
    host = ViewHost(contents, result)
    application = web.Application()
    application.router.add_get("/{path:.*}", host.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        about = quote(json.dumps({"fetch": result is not None, **settings}))
        page = await browser.open(
            f"{host.url}#{about}", width=size[0], height=size[1], scheme=scheme
        )
        await page.wait_for(
            "window.received?.some((it) => it.method === 'ui/notifications/initialized')",
            in_frame=False,
        )
        yield page, host
        await page.close()
    finally:
        await runner.cleanup()
