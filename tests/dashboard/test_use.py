"""Tests of the dashboard in a browser: keyboard, sorting, search, pages, print, no JavaScript."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from mcpgen.factory.dashboard.page import make_page
from tests.dashboard.pages import count, forget_evidence, opened, texts
from tests.support.browser import Browser, Page, Tell
from tests.support.fleets import make_fleet

FLEET = make_fleet(30)
NAMES = [it.status.server for it in FLEET.servers]
ROWS = "#fleet tbody tr:not([hidden])"


async def _focused(page: Page) -> str:
    found: str = await page.evaluate("document.activeElement.textContent", in_frame=False)
    return found


async def _click(page: Page, selector: str, text: str) -> None:
    await page.evaluate(
        f"[...document.querySelectorAll({selector!r})].find((it) => it.textContent === {text!r})"
        ".click()",
        in_frame=False,
    )


async def _column(page: Page, head: str) -> list[str]:
    found: list[str] = await page.evaluate(
        f"[...document.querySelectorAll({ROWS!r})].map((row) =>"
        f" row.querySelector('[data-head={head}]').dataset.sort)",
        in_frame=False,
    )
    return found


def test_a_heading_sorts_its_column(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, FLEET, width=1440) as page:
            for head in ("Tokens", "Version", "Owner"):
                await _click(page, "#fleet th button", head)
                sort = (
                    "[...document.querySelectorAll('#fleet th')]"
                    f".find((it) => it.textContent === '{head}').ariaSort"
                )
                assert await page.evaluate(sort, in_frame=False) == "ascending"
                assert await count(page, "#fleet th[aria-sort]") == 1
                found = await _column(page, head)
                if head == "Tokens":
                    assert [*map(int, found)] == sorted(map(int, found))
                await _click(page, "#fleet th button", head)
                assert await page.evaluate(sort, in_frame=False) == "descending"
                assert await _column(page, head) != found
            await _click(page, "#fleet th button", "25-06-18")  # below a heading of several columns
            scores = [
                int(it)
                for it in await page.evaluate(
                    f"[...document.querySelectorAll({ROWS!r})].map((row) =>"
                    " row.querySelector('[data-head=\"2025-06-18\"]').dataset.sort)",
                    in_frame=False,
                )
            ]
            assert scores == sorted(scores)
            assert len({*scores}) > 1

    tell(story)


def test_search_and_filters_select_servers(tell: Tell, tmp_path: Path) -> None:
    failing = [
        it.status.server
        for it in FLEET.servers
        if any(need.kind.value == "failing" for need in it.status.needs)
    ]

    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, FLEET) as page:
            assert await count(page, ROWS) == 30
            await page.press("/")
            assert await page.evaluate("document.activeElement.id", in_frame=False) == "search"
            await page.write("LEDGER api")
            assert await texts(page, f"{ROWS} .server") == [it for it in NAMES if "ledger" in it]
            await page.press("Escape")
            await page.write("archive_billing")  # a tool
            assert await texts(page, f"{ROWS} .server") == [it for it in NAMES if "billing" in it]
            assert await texts(page, "#filters .count") == ["2 of 30 servers"]
            await page.press("Escape")
            assert await count(page, ROWS) == 30
            await page.evaluate(
                "const it = document.querySelector('select'); it.value = 'failing';"
                "it.dispatchEvent(new Event('change'))",
                in_frame=False,
            )
            assert await texts(page, f"{ROWS} .server") == failing

    tell(story)


def test_the_keyboard_reaches_rows_pages_and_tools(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, FLEET, width=1440) as page:
            await page.press("Tab")
            assert await _focused(page) == "Skip to the content"
            assert (
                await page.evaluate(
                    "getComputedStyle(document.activeElement).outlineStyle", in_frame=False
                )
                == "solid"
            )
            await page.press("Enter")
            assert await page.evaluate("document.activeElement.id", in_frame=False) == "main"
            await page.press("/")
            await page.press("ArrowDown")
            assert await _focused(page) == NAMES[0]
            await page.press("ArrowDown", "ArrowDown")
            assert await _focused(page) == NAMES[2]
            await page.press("ArrowUp")
            assert await _focused(page) == NAMES[1]
            await page.press("End")
            assert await _focused(page) == NAMES[-1]
            await page.press("Home", "ArrowUp")
            assert await page.evaluate("document.activeElement.id", in_frame=False) == "search"
            await page.press("ArrowDown", "Enter")
            await page.wait_for("!document.getElementById('server').hidden", in_frame=False)
            assert await _focused(page) == NAMES[0]  # the heading of its page
            assert await page.evaluate("document.title", in_frame=False) == (
                f"{NAMES[0]} · shop-servers · MCP servers"
            )
            await page.evaluate("document.querySelector('button.name').focus()", in_frame=False)
            await page.press("Enter")
            assert await count(page, "button.name[aria-expanded=true]") == 1
            assert await count(page, "tr.more .schemas pre") == 2
            await page.press("Enter")
            assert await texts(page, "tr.more") == []
            await page.press("Escape")
            await page.wait_for("document.getElementById('server').hidden", in_frame=False)
            assert await _focused(page) == NAMES[0]  # where the reader was

    tell(story)


def test_the_page_of_a_server_has_all_parts(tell: Tell, tmp_path: Path) -> None:
    server = next(
        it for it in FLEET.servers if it.status.waivers and it.status.scores and it.status.clients
    )
    name = server.status.server

    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, FLEET, f"#/{name}", width=1440) as page:
            heads = await texts(page, "#server h3")
            assert [it.rstrip("0123456789") for it in heads] == [
                "Stages", "Tools", "Operations without a tool", "Requirements", "Clients",
                "Findings of lint", "Waivers", "Install", "History",
            ]  # fmt: skip
            assert len(await texts(page, "#server button.name")) == len(server.tools)
            links = await page.evaluate(
                "[...document.querySelectorAll('#server a')].map((it) => it.getAttribute('href'))",
                in_frame=False,
            )
            for file in ("lint", "tests", "validate"):
                assert f"./{name}/.mcpgen/evidence/{file}.json" in links
            assert f"./{name}/waivers.yaml" in links
            snippet = await texts(page, "#server .install + pre")
            assert snippet == [server.install["claude-code"].rstrip()]
            assert await texts(page, "#server .alert .command") == [
                need.command for need in server.status.needs
            ]

    tell(story)


def test_nothing_unknown_is_shown_as_passed(tell: Tell, tmp_path: Path) -> None:
    unknown = forget_evidence(make_fleet(3))
    assert "passed" not in re.findall(r'class="[^"]*\b(passed)\b', make_page(unknown, ""))

    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, unknown, f"#/{NAMES[0]}") as page:
            assert await count(page, "#server .state.unknown") >= 9
            assert await count(page, ".passed") == 0

    tell(story)


def test_each_state_has_a_colour_and_a_sign_of_its_own(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        for scheme in ("light", "dark"):
            async with opened(browser, tmp_path, FLEET, scheme=scheme) as page:
                colours = await page.evaluate(
                    "Object.fromEntries(['passed', 'failed', 'stale', 'unknown'].map((it) => [it,"
                    " getComputedStyle(document.querySelector(`#fleet .track .${it}`)).color]))",
                    in_frame=False,
                )
                assert len({*colours.values()}) == 4
                signs = await page.evaluate(
                    "[...document.querySelectorAll('.track > span')].map((it) =>"
                    " `${it.className} ${it.querySelector('use').getAttribute('href')}`)",
                    in_frame=False,
                )
                assert signs == [
                    f"{stage.proof.state} #i-{stage.proof.state}"
                    for it in FLEET.servers
                    for stage in it.status.stages
                ]

    tell(story)


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_is_wider_than_the_window(width: int, tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        for fragment in ("", f"#/{FLEET.servers[1].status.server}"):
            async with opened(browser, tmp_path, FLEET, fragment, width=width) as page:
                wide = await page.evaluate("document.documentElement.scrollWidth", in_frame=False)
                assert wide == width

    tell(story)


def test_the_tables_are_complete_without_javascript(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        file = tmp_path / "dashboard.html"
        file.write_text(make_page(FLEET, ""), "utf-8")
        page = await browser.open("about:blank", width=1440)
        await page.send("Emulation.setScriptExecutionDisabled", value=True)
        await page.send("Page.navigate", url=file.as_uri())
        await page.wait_for(
            "document.readyState === 'complete' && !!document.getElementById('coverage')",
            in_frame=False,
        )
        assert await count(page, "#search, .copied") == 0
        for table in ("#fleet", ".matrix", ".coverage"):
            assert len(await texts(page, f"{table} tbody .server")) == 30
        needs = sum(len(it.status.needs) for it in FLEET.servers)
        assert await count(page, ".needs tbody tr") == needs
        assert await count(page, ".needs .command") == needs
        await page.close()

    tell(story)


def test_all_lines_of_the_queue_are_printed(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, FLEET, width=1000, scheme="dark") as page:
            await page.send("Emulation.setEmulatedMedia", media="print")
            assert await texts(page, "#filters, .sections, .copied") == []
            assert (
                await page.evaluate(
                    "getComputedStyle(document.body).backgroundColor", in_frame=False
                )
                == "rgb(255, 255, 255)"
            )
            needs = sum(len(it.status.needs) for it in FLEET.servers)
            assert len(await texts(page, ".needs tbody tr")) == needs
            # Browsers without `::details-content` need the script.
            assert await count(page, "details:not([open])") > 0
            await page.evaluate("window.dispatchEvent(new Event('beforeprint'))", in_frame=False)
            assert await count(page, "details:not([open])") == 0
            pdf = base64.b64decode((await page.send("Page.printToPDF"))["data"])
            assert pdf.startswith(b"%PDF-")

    tell(story)


def test_one_server_is_shown_at_once(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, make_fleet(1)) as page:
            assert await texts(page, "#server-title") == ["servers/accounts-mcp"]
            assert await count(page, ".back") == 0

    tell(story)
