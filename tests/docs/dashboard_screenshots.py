"""Take the dashboard screenshots of docs/images: `python -m tests.docs.dashboard_screenshots`.

The servers are made up, so that each state occurs. `--all FOLDER` takes pictures of all views, at
two widths and in both colour schemes, for the examples and for 200 servers, to look at before a
change of the layout is committed. It needs Chromium, which Debian has as the package `chromium`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from mcpgen.factory.dashboard.collect import collect
from mcpgen.factory.dashboard.page import make_page
from mcpgen.factory.status.model import Fleet
from tests.support.browser import Browser, running_browser
from tests.support.fleets import make_fleet
from tests.support.paths import EXAMPLES, REPOSITORY

IMAGES: Final = REPOSITORY / "docs" / "images"
HEIGHTS: Final = {1440: 640, 390: 780}
READY: Final = "document.readyState === 'complete' && !!document.getElementById('search')"
VIEWS: Final = ("", "#servers", "#clients", "#coverage")


async def take(browser: Browser, url: str, picture: Path, *, width: int, scheme: str) -> None:
    """Take a screenshot of a page."""
    height = HEIGHTS[width]
    page = await browser.open(url, width=width, height=height, scheme=scheme)
    await page.wait_for(READY, in_frame=False)
    top = await page.evaluate("window.scrollY", in_frame=False)
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
    shot = await page.send("Page.captureScreenshot", format="png", clip=clip)
    _save(picture, shot["data"])
    assert page.console == [], page.console
    await page.close()


def _save(picture: Path, data: str) -> None:
    picture.write_bytes(base64.b64decode(data))


async def take_for_docs(browser: Browser, folder: Path) -> None:
    """Take the screenshots of the documentation."""
    fleet = make_fleet(12, seed=6)
    url = _write(fleet, folder / "dashboard.html")
    server = f"#/{fleet.servers[1].status.server}"
    for name, fragment, width, scheme in (
        ("servers-wide-light", "#servers", 1440, "light"),
        ("server-wide-dark", server, 1440, "dark"),
        ("attention-narrow-dark", "", 390, "dark"),
    ):
        picture = IMAGES / f"dashboard-{name}.png"
        await take(browser, url + fragment, picture, width=width, scheme=scheme)


def _write(fleet: Fleet, file: Path) -> str:
    """Write the dashboard of a fleet, and return its address."""
    file.write_text(make_page(fleet, ""), "utf-8")
    return file.as_uri()


async def take_all(browser: Browser, pages: Path, folder: Path) -> None:
    """Take screenshots of every view."""
    fleets: Mapping[str, Fleet] = {
        "examples": collect(EXAMPLES, datetime.now(UTC)),
        "large": make_fleet(200),
    }
    for name, fleet in fleets.items():
        url = _write(fleet, pages / f"{name}.html")
        for width in HEIGHTS:
            for scheme in ("light", "dark"):
                for view in (*VIEWS, f"#/{fleet.servers[0].status.server}"):
                    shown = view.strip("#/").replace("/", "-") or "top"
                    picture = folder / f"{name}-{shown}-{width}-{scheme}.png"
                    await take(browser, url + view, picture, width=width, scheme=scheme)


def main() -> None:
    """Take the screenshots that the command line selects."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", metavar="FOLDER", type=Path)
    wanted: Path | None = parser.parse_args().all
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
    asyncio.run(take_pictures(wanted))


async def take_pictures(wanted: Path | None) -> None:
    """Take the screenshots of the documentation, or those of every view into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        async with running_browser() as browser:
            if wanted is None:
                await take_for_docs(browser, Path(folder))
            else:
                await take_all(browser, Path(folder), wanted)


if __name__ == "__main__":
    main()
