"""Take the screenshots of the connect pages in docs/images: `python -m tests.docs.screenshots`.

It needs Chromium, which Debian has as the package `chromium`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from mcpgen.runtime.package import ServerPackage
from tests.support.connecting import generate_package, running_world
from tests.support.paths import REPOSITORY

IMAGES = REPOSITORY / "docs" / "images"
SIZES = {"wide": "1000,700", "narrow": "390,780"}
SCHEMES = {"dark": "0", "light": "1"}
PICTURES = (("wide", "light"), ("narrow", "dark"))


async def take(url: str, name: str, size: str, scheme: str, profile: str) -> None:
    """Take a screenshot of a page, in a new browser profile."""
    process = await asyncio.create_subprocess_exec(
        "chromium",
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={profile}/{name}-{size}-{scheme}",
        f"--window-size={SIZES[size]}",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        f"--screenshot={IMAGES / f'{name}-{size}-{scheme}.png'}",
        url,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    # A violation of the pages' own policy is reported on the console.
    assert process.returncode == 0, told.decode()
    assert b"Content Security Policy" not in told, told.decode()


async def main() -> None:
    """Take screenshots of each page, in two sizes and two color schemes."""
    with tempfile.TemporaryDirectory() as folder:
        source = generate_package(Path(folder))
        sys.path.insert(0, str(source))
        async with running_world(ServerPackage.load("animals_mcp")) as world:
            world.people.user = "ada"
            await world.connect("ada")
            pages = {
                "connect": await world.ask_for_link("ada", "add_pet"),
                "connections": f"{world.public_url.removesuffix('/mcp')}/connections",
            }
            for name, url in pages.items():
                for size, scheme in PICTURES:
                    await take(url, name, size, scheme, folder)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    asyncio.run(main())
