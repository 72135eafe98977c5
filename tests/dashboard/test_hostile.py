"""Tests that document text in the dashboard is escaped, and that the page sends no request."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from mcpgen.factory.dashboard.data import encode_inline
from mcpgen.factory.dashboard.page import make_page
from mcpgen.factory.status.model import Fleet
from tests.dashboard.pages import ATTACK, count, opened, poison
from tests.support.browser import Browser, Page, Tell
from tests.support.fleets import make_fleet

FLEET = poison(make_fleet(25))
HIDDEN = "\u202e\u2066\u200b\u2028\u2029\U000e0041\x1b"


class _Tags(HTMLParser):
    """Parser that collects the tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_texts_add_no_element_and_no_attribute() -> None:
    harmless = _Tags(make_page(make_fleet(25), "")).found
    hostile = _Tags(make_page(FLEET, "")).found
    # A path with a slash is shown in two parts, and the attack contains slashes.
    kept = [it for it in hostile if it[0] != "wbr" and it[1] != {"class": "folder"}]
    expected = [it for it in harmless if it[0] != "wbr" and it[1] != {"class": "folder"}]
    assert [(tag, sorted(attributes)) for tag, attributes in kept] == [
        (tag, sorted(attributes)) for tag, attributes in expected
    ]


def test_every_link_is_relative_and_no_name_is_a_scheme() -> None:
    servers = ["javascript:alert(1)", "//evil.example", "data:text/html,x", "a b#c?d"]
    raw = msgspec.to_builtins(make_fleet(len(servers)))
    for server, name in zip(raw["servers"], servers, strict=True):
        server["status"]["server"] = name
    tags = _Tags(make_page(msgspec.convert(raw, Fleet), "../")).found
    links = {str(attributes["href"]) for tag, attributes in tags if tag == "a"}
    assert "./../javascript%3Aalert%281%29/mcpgen.lock" in links
    assert {it[:2] for it in links if not it.startswith("#")} == {"./"}


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "\u2028\u2029", "&lt;"])
def test_inlined_json_ends_no_element(text: str) -> None:
    written = encode_inline({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert not {"<", ">", "&", "\u2028", "\u2029"} & {*written}


async def _check(page: Page) -> None:
    assert await page.evaluate("window.hacked", in_frame=False) is None
    assert await page.evaluate("document.scripts.length", in_frame=False) == 2
    assert await count(page, "iframe, object, embed, img, b > *, base, form, template") == 0
    assert await count(page, "[onerror], [onload], [onclick], [srcdoc], [style]") == 0
    links: list[str] = await page.evaluate(
        "[...document.querySelectorAll('a')].map((it) => it.getAttribute('href'))", in_frame=False
    )
    assert links
    assert all(link.startswith(("./", "#")) for link in links)
    shown: str = await page.evaluate("document.body.innerText", in_frame=False)
    assert "<script>window.hacked = 1</script>" in shown
    assert not {*HIDDEN} & {*shown}
    assert page.console == []
    assert all(url.startswith(("file:", "data:")) for url in page.requested)


def test_hostile_texts_stay_texts_in_a_browser(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        async with opened(browser, tmp_path, FLEET) as page:
            for each in ("details", "tbody"):
                await page.evaluate(
                    f"document.querySelectorAll('{each}').forEach((it) => {{ it.open = true }})",
                    in_frame=False,
                )
            await _check(page)
            await page.evaluate(
                "document.querySelectorAll('th button').forEach((it) => it.click())", in_frame=False
            )
            await _check(page)
            for number in range(3):
                await page.evaluate(
                    f"location.hash = document.querySelectorAll('#fleet a.server')[{number}].hash",
                    in_frame=False,
                )
                await page.wait_for("!document.getElementById('server').hidden", in_frame=False)
                await page.evaluate(
                    "document.querySelectorAll('button.name').forEach((it) => it.click())",
                    in_frame=False,
                )
                assert await count(page, "#server .schemas pre") > 0
                await _check(page)
            assert len({*page.requested} - {"data:,"}) == 1  # the file itself

    tell(story)


def test_a_hostile_fragment_of_the_address_shows_the_overview(tell: Tell, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        for fragment in ("#/%E0%A4%A", "#/no/such", "#<img src=x onerror=alert(1)>", "#a'%22]"):
            async with opened(browser, tmp_path, make_fleet(2), fragment) as page:
                assert await page.evaluate("!overview.hidden", in_frame=False)
                assert page.console == []

    tell(story)


def test_the_attack_is_one_indeed(tell: Tell, tmp_path: Path) -> None:
    """Without escaping, the same texts execute code, so the tests above can fail."""

    async def story(browser: Browser) -> None:
        file = tmp_path / "unescaped.html"
        file.write_text(f"<!doctype html><title>x</title><p>{ATTACK}", "utf-8")
        page = await browser.open(file.as_uri())
        assert await page.wait_for("window.hacked", in_frame=False) == 1
        await page.close()

    tell(story)
