"""Take the screenshots of the views in docs/images: `python -m tests.docs.view_screenshots`.

The views are those of the examples, with results in the shapes of their APIs. It needs Chromium,
which Debian has as the package `chromium`.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import sys
import zlib
from datetime import date, timedelta
from math import sin
from typing import Any

from mcpgen.runtime.package import ServerPackage
from tests.support.browser import Browser, running_browser
from tests.support.paths import EXAMPLES, REPOSITORY
from tests.support.view_host import read_view, shown

IMAGES = REPOSITORY / "docs" / "images"
SCHEMES = {"light": "#ffffff", "dark": "#1b1c1f"}
WIDTH = 720

BOOKS = [
    ("The Lighthouse at Low Tide", "Ines Maar", "hardcover", "24.00", "2026-03-11"),
    ("Sea & Salt", "Tomas Reed", "paperback", "12.90", "2024-07-19"),
    ("A Short History of Fog", "Amara Bello", "ebook", "8.50", "2025-10-02"),
    ("Letters to a Cartographer", "Ines Maar", "paperback", "14.00", "2023-05-24"),
    ("The Winter Orchard", "Jun Sato", "hardcover", "21.50", "2025-11-30"),
    ("Nine Bridges", "Lucía Ortega", "audiobook", "17.95", "2022-02-08"),
    ("What the Tide Returned", "Tomas Reed", "paperback", "11.00", "2021-09-15"),
    ("An Almanac of Small Winds", "Amara Bello", "hardcover", "28.00", "2026-01-20"),
]
CREATIVES = [
    ("Autumn chairs", "Sit where the light is", (214, 158, 92)),
    ("Oak table, long", "A table for everyone", (122, 96, 72)),
    ("Blue armchair", "The corner you come back to", (74, 112, 156)),
    ("Garden bench", "Outside, all year", (104, 142, 98)),
    ("Reading lamp", "One page more", (196, 122, 106)),
    ("Shelf system", "Room for what you keep", (128, 120, 160)),
    ("Linen cushions", "Softer mornings", (202, 184, 158)),
]


def list_books() -> list[dict[str, Any]]:
    return [
        {
            "isbn": f"97800000{7 * number + 10_011:05}",
            "title": title,
            "authors": [{"id": number, "name": author}],
            "format": shape,
            "price": {"amount": amount, "currency": "EUR"},
            "publishedOn": day,
        }
        for number, (title, author, shape, amount, day) in enumerate(BOOKS)
    ]


def make_picture(colour: tuple[int, int, int], *, size: int = 96) -> str:
    """Return a picture with a gradient as a `data:` URL (PNG)."""
    lines = b"".join(
        b"\0"
        + bytes(min(255, value + (row + column) // 3) for column in range(size) for value in colour)
        for row in range(size)
    )

    def chunk(kind: bytes, content: bytes) -> bytes:
        sum_ = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + sum_

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9))
    return f"data:image/png;base64,{base64.b64encode(png + chunk(b'IEND', b'')).decode()}"


def search_days() -> list[dict[str, Any]]:
    first = date(2026, 9, 1)
    return [
        {
            "keys": [(first + timedelta(day)).isoformat()],
            "clicks": round(240 + 60 * sin(day / 3.3) + 3 * day + 22 * sin(day * 2.1)),
            "impressions": round(5200 + 900 * sin(day / 3.6) + 46 * day + 240 * sin(day * 1.7)),
            "position": round(14.2 - day / 14 + 0.5 * sin(day / 2), 1),
        }
        for day in range(60)
    ]


ORDER = {
    "id": 40017,
    "status": "shipped",
    "placedAt": "2026-11-02T09:14:00Z",
    "total": {"amount": "34.30", "currency": "EUR"},
    "shipTo": {
        "street": "Kanaalweg 12",
        "city": "Utrecht",
        "postalCode": "3526 KM",
        "country": "NL",
    },
    "lines": [
        {"isbn": isbn, "quantity": quantity, "unitPrice": {"amount": price, "currency": "EUR"}}
        for isbn, quantity, price in (("9780000010018", 2, "12.90"), ("9780000010025", 1, "8.50"))
    ],
}

VIEWS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # picture -> package, tool, settings of the host
    "table": ("bookshop_mcp", "list_books", {"result": {"items": list_books(), "nextCursor": "a"}}),
    "record": ("bookshop_mcp", "get_order", {"result": ORDER}),
    "chart": (
        "search_console_mcp",
        "query_search_performance",
        {"result": {"rows": search_days()}},
    ),
    "gallery": (
        "meta_ads_mcp",
        "list_creatives",
        {
            "result": {
                "data": [
                    {
                        "id": str(number),
                        "name": name,
                        "title": title,
                        "thumbnail_url": make_picture(colour),
                    }
                    for number, (name, title, colour) in enumerate(CREATIVES)
                ]
            }
        },
    ),
    "form": ("search_console_mcp", "remove_site", {"input": {"site": "https://shop.example/"}}),
}


async def take(browser: Browser, picture: str, scheme: str) -> None:
    """Take a screenshot of one view."""
    package, tool, settings = VIEWS[picture]
    contents = read_view(ServerPackage.load(package), tool)
    result = settings.get("result")
    given = {"input": settings.get("input", {}), "around": SCHEMES[scheme]}
    whole = None if result is None else {"structuredContent": result, "content": []}
    context = {"theme": scheme, "locale": "en-GB", "containerDimensions": {"maxHeight": 560}}
    async with shown(
        browser, contents, whole, size=(WIDTH, 900), scheme=scheme, context=context, **given
    ) as (page, _):
        selector = "img, tbody tr, dl, svg path" if picture != "form" else ".sent"
        await page.wait_for(f"document.querySelector('{selector}') !== null")
        await page.wait_for("new Promise((done) => setTimeout(() => done(true), 300))")
        height = await page.evaluate(
            "document.getElementById('app').getBoundingClientRect().height"
        )
        shot = await page.screenshot(WIDTH, int(height))
        (IMAGES / f"view-{picture}-{scheme}.png").write_bytes(shot)
        assert page.console == [], page.console


async def main() -> None:
    """Take a screenshot of each view in both color schemes."""
    for folder in sorted(EXAMPLES.glob("*-mcp/src")):
        sys.path.insert(0, str(folder))
    async with running_browser() as browser:
        for picture in VIEWS:
            for scheme in SCHEMES:
                await take(browser, picture, scheme)


if __name__ == "__main__":
    asyncio.run(main())
