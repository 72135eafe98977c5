"""Dashboard files opened in a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mcpgen.factory.dashboard.page import make_page
from mcpgen.factory.status.model import Fleet, Need, NeedKind, Proof, Stage, StageName, State
from tests.support.browser import Browser, Page

READY = "document.readyState === 'complete' && !!document.getElementById('search')"
ATTACK = "".join(
    (
        "<script>window.hacked = 1</script></script><script>window.hacked = 1</script>",
        '<img src=x onerror="window.hacked = 1"><!-- <svg onload=window.hacked=1>',
        '"><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
        "</style></title></table>' javascript:window.hacked=1 &lt;b&gt; ]]>",
        "\u202egnp.exe\u2066\u200b\u2028\u2029\U000e0041\x1b[31m",
    )
)
"""Text that a hostile document might contain."""

_FIXED = frozenset({"state", "time", "now", "effect", "verdict", "kind", "reached"})


@asynccontextmanager
async def opened(
    browser: Browser, folder: Path, fleet: Fleet, fragment: str = "", **options: Any
) -> AsyncIterator[Page]:
    """Write the dashboard of a fleet into a folder, and open it."""
    file = folder / "dashboard.html"
    file.write_text(make_page(fleet, ""), "utf-8")
    page = await browser.open(f"{file.as_uri()}{fragment}", **options)
    await page.wait_for(READY, in_frame=False)
    yield page
    await page.close()


async def count(page: Page, selector: str) -> int:
    """Return the number of elements of the page that match a selector."""
    return int(
        await page.evaluate(f"document.querySelectorAll({selector!r}).length", in_frame=False)
    )


async def texts(page: Page, selector: str) -> list[str]:
    """Return the texts of the displayed elements that match a selector."""
    script = (
        f"[...document.querySelectorAll({selector!r})]"
        ".filter((it) => it.checkVisibility()).map((it) => it.textContent)"
    )
    found: list[str] = await page.evaluate(script, in_frame=False)
    return found


def forget_evidence(fleet: Fleet) -> Fleet:
    """Return a copy of a fleet without any evidence."""
    unknown = Proof(state=State.UNKNOWN, summary="no evidence")
    servers = []
    for server in fleet.servers:
        status = replace(
            server.status,
            stages=tuple(Stage(name, unknown) for name in StageName),
            reached=None,
            drift=unknown,
            scores={},
            clients={},
            kill_rate=None,
            published="",
            needs=(LOST,),
        )
        servers.append(replace(server, status=status, history=()))
    return replace(fleet, servers=tuple(servers))


LOST = Need(NeedKind.UNKNOWN, "there is no evidence", "mcpgen test")


def poison(fleet: Fleet) -> Fleet:
    """Return a fleet in which all texts and keys that come from documents are hostile."""
    return msgspec.convert(_poison(msgspec.to_builtins(fleet), "", ""), Fleet)


def _poison(value: Any, key: str, parent: str) -> Any:
    if isinstance(value, dict):
        is_free = key in {"input_schema", "output_schema", "properties", "requirements", "clients"}
        return {
            f"{name} {ATTACK}" if is_free else name: _poison(each, name, key)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_poison(each, "", key) for each in value]
    if isinstance(value, str) and not (key in _FIXED or (key == "name" and parent == "stages")):
        return f"{value} {ATTACK}"
    return value
