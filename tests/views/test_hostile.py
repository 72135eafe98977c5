"""Tests that API text in a view is escaped, and that a view reaches no other origin."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.browser import Browser
from tests.support.view_host import click, make_policy, received, shown
from tests.support.views import column, make_view, result_of

Tell = Callable[[Callable[[Browser], Any]], None]
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 1">',
    "<svg onload=window.hacked=1>",
    '"><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
    "javascript:window.hacked=1",
    "data:text/html,<script>window.hacked=1</script>",
    "https://user:password@evil.example/",
    "&lt;b&gt; {{7*7}} ${7*7}",
    "-->]]><!--",
]
ATTACK = " ".join(HOSTILE)
ITEMS = [{"name": it, "photo": it, "count": 1, "<b>key</b>": {ATTACK: [ATTACK]}} for it in HOSTILE]
COLUMNS = (
    column("photo", label=ATTACK),
    column("name", label="</style><script>window.hacked=1</script>"),
    column("count", "integer", label=ATTACK),
)


@pytest.mark.parametrize("kind", ["table", "record", "chart", "gallery", "form"])
def test_hostile_text_stays_text(kind: str, tell: Tell) -> None:
    tool: dict[str, Any] = {
        "title": ATTACK,
        "inputSchema": {"properties": {"name": {"type": "string", "description": ATTACK}}},
    }
    view: dict[str, Any] = (
        {"operation": f"GET /{ATTACK}", "confirm": ATTACK} if kind == "form" else {}
    )
    columns = () if kind in {"form", "record"} else COLUMNS
    contents = make_view(kind, *columns, tool=tool, **view)
    value: Any = {"items": ITEMS} if kind != "record" else {"a": ATTACK, "items": ITEMS, ATTACK: 1}

    async def story(browser: Browser) -> None:
        result = {**result_of(value), "content": [{"type": "text", "text": ATTACK}]}
        async with shown(browser, contents, result, input={"name": ATTACK, ATTACK: ATTACK}) as (
            page,
            host,
        ):
            await page.wait_for("document.querySelector('main').textContent.length > 200")
            if kind == "form":
                await click(page, "Change and send again")
                assert (
                    await page.evaluate(
                        "document.querySelector('.fields input, .fields textarea').value"
                    )
                    == ATTACK
                )
            elif kind in {"table", "gallery"}:
                await page.evaluate("document.querySelector('tr[data-index], .tile').click()")
            written = await page.evaluate("document.body.innerText")
            assert "<script>window.hacked = 1</script>" in written
            assert await page.evaluate("document.scripts.length") == 2  # the settings and the code
            assert await page.count("iframe, object, embed, a, b, link") == 0
            assert await page.count("[onerror], [onload]") == 0
            assert await page.evaluate("window.hacked") is None
            assert await page.evaluate("window.hacked", in_frame=False) is None
            assert page.console == []
            assert {*host.requested} == {"/", "/view", "/result"}
            assert all(url.startswith((host.url, "data:,")) for url in page.requested)

    tell(story)


def test_characters_that_reorder_or_hide_text_are_written_out(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        value = {"items": [{"name": "invoice\u202egnp.exe\u2066\u200b\U000e0041"}]}
        contents = make_view("table", column("name"))
        async with shown(browser, contents, result_of(value)) as (page, _):
            told = await page.wait_for("document.querySelector('tr[data-index] td')?.textContent")
            assert told == "invoice⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+200B⟩⟨U+E0041⟩"
            # Text from the right has a direction of its own, and moves nothing around it.
            assert (
                await page.evaluate(
                    "document.querySelector('tr[data-index] td').firstChild.tagName"
                )
                == "BDI"
            )

    tell(story)


def test_only_links_of_the_web_are_opened_and_only_by_the_host(tell: Tell) -> None:
    addresses = [
        "https://shop.example/pets?id=1",
        "javascript:alert(1)",
        "https://user:password@shop.example/",
        "file:///etc/passwd",
        "HTTPS://SHOP.example/a b",
    ]
    contents = make_view("table", column("name"))

    async def story(browser: Browser) -> None:
        result = result_of({"items": [{"name": it} for it in addresses]})
        async with shown(browser, contents, result) as (page, _):
            await page.wait_for("document.querySelectorAll('tr[data-index]').length === 5")
            links = await page.texts("button.link")
            assert links == addresses[:1]
            await page.evaluate("document.querySelector('button.link').click()")
            assert await received(page, "ui/open-link", count=1) == [{"url": addresses[0]}]
        async with shown(browser, contents, result, capabilities={}) as (page, _):
            await page.wait_for("document.querySelectorAll('tr[data-index]').length === 5")
            assert await page.count("button.link") == 0

    tell(story)


@pytest.mark.parametrize(
    "attempt",
    [
        "fetch({url})",
        "Object.assign(new Image(), {{src: {url}}}).decode()",
        "import({url})",
        "new Promise((_, no) => (new WebSocket({url}.replace('http', 'ws')).onerror = no))",
        "Promise.resolve(document.body.innerHTML = '<img src=' + {url} + '>')",
        "Promise.resolve(eval('1'))",
    ],
)
def test_the_policy_of_the_page_permits_no_request_and_no_markup(attempt: str, tell: Tell) -> None:
    """The policy of the page itself, without that of the host, which is as strict."""
    contents = {**make_view("record"), "_meta": {"ui": {}}}

    async def story(browser: Browser) -> None:
        async with shown(browser, contents, result_of({"a": 1})) as (page, host):
            url = json.dumps(f"{host.url}stolen")
            run = f"(async () => {attempt.format(url=url)})().then(() => 'done', () => 'refused')"
            assert await page.evaluate(run) == "refused"
            assert "/stolen" not in host.requested

    tell(story)


def test_messages_of_other_windows_are_ignored(tell: Tell) -> None:
    contents = make_view("record")
    forged = {
        "jsonrpc": "2.0",
        "method": "ui/notifications/tool-result",
        "params": result_of({"a": "forged"}),
    }

    async def story(browser: Browser) -> None:
        async with shown(browser, contents) as (page, _):
            await page.evaluate(f"window.postMessage({json.dumps(forged)}, '*')")
            for odd in (
                None,
                1,
                "text",
                [],
                {"method": "ui/notifications/tool-result"},
                {"jsonrpc": "2.0", "id": 99},
            ):
                await page.evaluate(
                    f"frame.contentWindow.postMessage({json.dumps(odd)}, '*')", in_frame=False
                )
            await page.evaluate("window.askView(77, 'ping')", in_frame=False)
            await page.wait_for("window.received.some((it) => it.id === 77)", in_frame=False)
            assert await page.count("dl") == 0  # the forged one came before
            told = json.dumps({**forged, "params": result_of({"a": "true"})})
            await page.evaluate(
                f"frame.contentWindow.postMessage({told}, '*')",
                in_frame=False,
            )
            written = await page.wait_for("document.querySelector('dl')?.textContent")
            assert written == "Atrue"
            assert page.console == []

    tell(story)


def test_the_declared_policy_names_no_origin() -> None:
    meta = make_view("table", column("name"))["_meta"]
    assert meta == {
        "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
    }
    assert "http" not in make_policy(meta)


def test_the_page_names_no_address() -> None:
    text = make_view("table", column("name"))["text"].replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in text.replace("^https?:", "")
    assert "//" not in "".join(
        line for line in text.splitlines() if "url(" in line or "src=" in line
    )
    assert text.count("<script") == 2
