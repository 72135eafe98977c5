"""Chromium without a window, driven by the DevTools protocol.

The program is `chromium` of Debian, or the one that CHROMIUM names.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.support.programs import find_program

WAIT_SECONDS = 60
_FLAGS = (
    "--headless",
    "--no-sandbox",  # the user may be root, as in continuous integration
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # One target for a page and its frames, so that one session sees all of them.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateSandboxedIframes,IsolateOrigins,site-per-process",
    "--remote-debugging-port=0",
)


def find_chromium() -> str:
    """Return the path of Chromium; skip the test if it is missing, or fail in CI."""
    return os.environ.get("CHROMIUM") or find_program("chromium")


class Page:
    """A page in the browser, and the frame in it."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.requested: list[str] = []
        """URLs that the page and its frame requested, `data:` URLs among them."""
        self.console: list[str] = []
        """Console messages of the page and its frame, and exceptions."""
        self._contexts: dict[int, str] = {}  # id -> frame id
        self._frame = ""

    async def send(self, method: str, **params: Any) -> Any:
        """Send a command of the DevTools protocol; return its result."""
        return await self._browser.send(method, params, self._session)

    def receive(self, method: str, params: dict[str, Any]) -> None:
        """Record an event of the DevTools protocol."""
        if method == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])
        elif method == "Runtime.executionContextCreated":
            context = params["context"]
            if context["auxData"].get("isDefault"):
                self._contexts[context["id"]] = context["auxData"]["frameId"]
        elif method == "Runtime.executionContextDestroyed":
            self._contexts.pop(params["executionContextId"], None)
        elif method == "Runtime.executionContextsCleared":
            self._contexts.clear()
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(str(details.get("exception", {}).get("description", details)))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])

    async def evaluate(self, expression: str, *, in_frame: bool = True) -> Any:
        """Evaluate JavaScript in the frame or the page; return its value, after awaiting it."""
        context = await self._context(in_frame)
        params = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        params["allowUnsafeEvalBlockedByCSP"] = False
        done = await self.send("Runtime.evaluate", contextId=context, **params)
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    async def _context(self, in_frame: bool) -> int:
        tree = (await self.send("Page.getFrameTree"))["frameTree"]
        frame = tree["childFrames"][0]["frame"] if in_frame else tree["frame"]
        owners = self._contexts.items()
        return next(number for number, owner in owners if owner == frame["id"])

    async def wait_for(self, expression: str, *, in_frame: bool = True) -> Any:
        """Wait until an expression is true; return its value."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                try:
                    found = await self.evaluate(expression, in_frame=in_frame)
                except (StopIteration, KeyError, IndexError):
                    found = None  # the frame has no page yet
                except RuntimeError as error:
                    if "context" not in str(error):
                        raise
                    found = None
                if found:
                    return found
                await asyncio.sleep(0.02)

    async def texts(self, selector: str) -> list[str]:
        """Return the texts of the elements in the frame that match a CSS selector."""
        find = f"[...document.querySelectorAll({selector!r})].map((it) => it.textContent)"
        found: list[str] = await self.evaluate(find)
        return found

    async def count(self, selector: str) -> int:
        """Return the number of the elements in the frame that match a CSS selector."""
        return int(await self.evaluate(f"document.querySelectorAll({selector!r}).length"))

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other, where the focus is."""
        for key in keys:
            about: dict[str, Any] = {"key": key, "code": key}
            about |= {"windowsVirtualKeyCode": _KEY_CODES[key]} if key in _KEY_CODES else {}
            down = {**about, "text": "\r"} if key == "Enter" else about
            await self.send("Input.dispatchKeyEvent", type="keyDown", **down)
            await self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    async def write(self, text: str) -> None:
        """Insert text where the focus is."""
        await self.send("Input.insertText", text=text)

    async def close(self) -> None:
        """Close the tab."""
        await self.send("Page.close")

    async def screenshot(self, width: int, height: int) -> bytes:
        """Return a PNG of the upper part of the page."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = await self.send("Page.captureScreenshot", format="png", clip=clip)
        return base64.b64decode(shot["data"])


_KEY_CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Browser:
    """A running browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, Page] = {}

    async def read(self) -> None:
        """Read responses and events until the browser ends."""
        async for message in self._socket:
            received = json.loads(message.data)
            if "id" in received:
                waiting = self._waiting.pop(received["id"])
                if "error" in received:
                    waiting.set_exception(RuntimeError(received["error"]["message"]))
                elif not waiting.done():
                    waiting.set_result(received["result"])
            elif received.get("sessionId") in self._pages:
                self._pages[received["sessionId"]].receive(received["method"], received["params"])

    async def send(self, method: str, params: dict[str, Any], session: str = "") -> Any:
        """Send a command; return its result."""
        number = next(self._ids)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        command = {"id": number, "method": method, "params": params}
        await self._socket.send_json(command | ({"sessionId": session} if session else {}))
        return await asyncio.wait_for(self._waiting[number], WAIT_SECONDS)

    async def open(
        self, url: str, *, width: int = 760, height: int = 640, scheme: str = "light"
    ) -> Page:
        """Open a page in a new tab."""
        target = await self.send("Target.createTarget", {"url": "about:blank"})
        attach = {"targetId": target["targetId"], "flatten": True}
        session = (await self.send("Target.attachToTarget", attach))["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.send(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await page.send("Emulation.setDeviceMetricsOverride", **size)
        preferred = [{"name": "prefers-color-scheme", "value": scheme}]
        await page.send("Emulation.setEmulatedMedia", features=preferred)
        await page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.send("Page.navigate", url=url)
        return page


@asynccontextmanager
async def running_browser() -> AsyncIterator[Browser]:
    """Start Chromium with a new profile."""
    program = find_chromium()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            program,
            *_FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            address = await asyncio.wait_for(_find_address(process), WAIT_SECONDS)
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(address, max_msg_size=0) as socket,
            ):
                browser = Browser(socket)
                reading = asyncio.create_task(browser.read())
                yield browser
                await browser.send("Browser.close", {})
                await asyncio.wait_for(reading, WAIT_SECONDS)
        finally:
            if process.returncode is None:
                process.terminate()
            await asyncio.wait_for(process.wait(), WAIT_SECONDS)


Story = Callable[[Browser], Coroutine[Any, Any, None]]
Tell = Callable[[Story], None]


@pytest.fixture(scope="session")
def tell() -> Iterator[Tell]:
    """Run a scenario with the browser of the session."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        browser = runner.run(stack.enter_async_context(running_browser()))
        yield lambda story: runner.run(story(browser))
        runner.run(stack.aclose())


async def _find_address(process: asyncio.subprocess.Process) -> str:
    """Return the address of the DevTools protocol, which the browser writes to stderr."""
    assert process.stderr is not None
    seen = []
    while line := (await process.stderr.readline()).decode():
        seen.append(line)
        if line.startswith("DevTools listening on "):
            drain = asyncio.create_task(process.stderr.read())
            drain.add_done_callback(lambda _: None)
            return line.split()[-1]
    raise AssertionError(f"chromium did not start: {seen}")
