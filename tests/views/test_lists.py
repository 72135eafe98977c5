"""Tests of tables, galleries and charts in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.browser import Browser, Page
from tests.support.view_host import received, shown
from tests.support.views import column, make_view, result_of

Tell = Callable[[Callable[[Browser], Any]], None]
TABLE = make_view(
    "table",
    column("name", label="Name"),
    column("age", "integer", label="Age"),
    column("owner.name", label="Owner"),
    column("born", format="date", label="Born"),
    column("tags", "array", label="Tags"),
)
PETS = [
    {
        "name": "Rex",
        "age": 9,
        "owner": {"name": "Ada"},
        "born": "2017-02-03",
        "tags": ["big", "calm"],
    },
    {"name": "Mia", "age": 10, "owner": None, "born": None, "tags": [{"id": 1, "name": "small"}]},
    {"name": "Tom", "age": None, "owner": {"name": "Eve"}, "born": "soon", "tags": []},
]
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
CELLS = (
    "[...document.querySelectorAll('tr[data-index]')]"
    ".map((row) => [...row.cells].map((it) => it.textContent))"
)
BRITISH = {"locale": "en-GB", "timeZone": "UTC"}


def many(count: int) -> dict[str, Any]:
    return result_of(
        {"items": [{"name": f"pet {n}", "age": n, "photo": PIXEL} for n in range(count)]}
    )


async def focused(page: Page) -> str:
    return str(
        await page.evaluate(
            "document.activeElement.dataset.index ?? document.activeElement.tagName"
        )
    )


def test_a_table_shows_members_as_text(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        result = result_of({"items": PETS})
        async with shown(browser, TABLE, result, context=BRITISH) as (page, _):
            await page.wait_for("document.querySelectorAll('tr[data-index]').length === 3")
            assert await page.texts("th") == [
                "Name", "Age", "Owner", "Born", "Tags",
            ]  # fmt: skip
            assert await page.evaluate(CELLS) == [
                ["Rex", "9", "Ada", "3 Feb 2017", "big, calm"],
                ["Mia", "10", "\u2013", "\u2013", "small"],
                ["Tom", "\u2013", "Eve", "soon", "\u2013"],
            ]
            assert await page.evaluate("document.querySelector('.count').textContent") == "3 rows"
            assert await page.evaluate("document.querySelector('h1').textContent") == "Pets"

    tell(story)


def test_a_column_sorts_by_its_values_and_the_third_press_restores_the_order(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        async with shown(browser, TABLE, result_of({"items": PETS})) as (page, _):
            await page.wait_for("document.querySelectorAll('tr[data-index]').length === 3")
            seen = []
            for _ in range(3):
                await page.evaluate("document.querySelectorAll('th button')[1].click()")
                names = [cells[0] for cells in await page.evaluate(CELLS)]
                order = await page.evaluate(
                    "document.querySelectorAll('th')[1].getAttribute('aria-sort')"
                )
                seen.append((order, names))
            assert seen == [
                ("ascending", ["Rex", "Mia", "Tom"]),
                ("descending", ["Tom", "Mia", "Rex"]),
                ("none", ["Rex", "Mia", "Tom"]),
            ]

    tell(story)


def test_ten_thousand_rows_keep_few_rows_in_the_page(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        contents = make_view("table", column("name"), column("age", "integer"))
        async with shown(browser, contents, many(10_000)) as (page, _):
            await page.wait_for("document.querySelectorAll('tr[data-index]').length > 5")
            assert (
                await page.evaluate("document.querySelector('table').getAttribute('aria-rowcount')")
                == "10001"
            )
            at_start = await page.count("*")
            await page.evaluate("document.querySelector('tr[data-index]').focus()")
            await page.press("End")
            assert await focused(page) == "9999"
            assert (await page.evaluate(CELLS))[-1] == ["pet 9999", "9999"]
            await page.evaluate("document.querySelectorAll('th button')[1].click()")
            await page.evaluate("document.querySelectorAll('th button')[1].click()")
            assert (await page.evaluate(CELLS))[0] == ["pet 9999", "9999"]
            await page.evaluate("document.querySelector('.scroller').scrollTop = 5000 * 37")
            await page.wait_for("document.querySelector('tr[data-index=\"5000\"]') !== null")
            at_end = await page.count("*")
            assert max(at_start, at_end) < 250  # elements of all kinds

    tell(story)


def test_the_arrow_keys_walk_through_a_table_and_enter_opens_a_row(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        contents = make_view("table", column("name"))
        async with shown(browser, contents, many(100)) as (page, _):
            await page.wait_for("document.querySelectorAll('tr[data-index]').length > 5")
            await page.evaluate("document.querySelector('th button').focus()")
            await page.press("Tab")
            assert await focused(page) == "0"
            await page.press("ArrowDown", "ArrowDown", "ArrowUp")
            assert await focused(page) == "1"
            await page.press("PageDown")
            assert int(await focused(page)) > 5
            await page.press("Home", "ArrowDown", "Enter")
            assert await page.evaluate("document.activeElement.textContent") == "Close"
            shown_there = await page.evaluate("document.querySelector('.panel').textContent")
            assert "pet 1" in shown_there
            assert "Age" in shown_there  # members that are no columns as well
            await page.press("Escape")
            assert await focused(page) == "1"
            assert await page.evaluate("document.querySelector('.panel').hidden")

    tell(story)


def test_more_rows_are_requested_of_the_tool_until_there_is_no_cursor(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        next_page = {"kind": "cursor", "argument": "after", "cursor": ["next"]}
        contents = make_view("table", column("name"), next_page=next_page)
        answers = [
            {"isError": True, "content": [{"type": "text", "text": "too many requests"}]},
            result_of({"items": [{"name": "Mia"}], "next": None}),
        ]
        first = result_of({"items": [{"name": "Rex"}], "next": "c1"})
        more = (
            "[...document.querySelectorAll('button')].find((it) => it.textContent === 'Load more')"
        )
        async with shown(browser, contents, first, input={"limit": 1}, answers=answers) as (
            page,
            _,
        ):
            await page.wait_for(f"{more} !== undefined")
            await page.evaluate(f"{more}.click()")
            await page.wait_for(
                "document.querySelector('.announcement').textContent.includes('too many requests')"
            )
            await page.evaluate(f"{more}.click()")
            await page.wait_for(f"{more} === undefined")
            assert await page.evaluate(CELLS) == [["Rex"], ["Mia"]]
            calls = await received(page, "tools/call", count=2)
            assert calls == [{"name": "pets", "arguments": {"limit": 1, "after": "c1"}}] * 2

    tell(story)


def test_each_kind_of_pagination_requests_the_page_after_the_last_one(tell: Tell) -> None:
    rows = {"items": [{"name": "Rex", "id": 7}, {"name": "Mia", "id": 8}]}
    cases: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]] = [
        ({"kind": "page", "argument": "page", "first": 1}, {}, {"page": 2}),
        (
            {"kind": "page", "argument": "page"},
            {"page": 4, "max_pages": 3},
            {"page": 7, "max_pages": 3},
        ),
        ({"kind": "offset", "argument": "skip"}, {"skip": 10}, {"skip": 12}),
        ({"kind": "last_item", "argument": "after", "cursor": ["id"]}, {}, {"after": 8}),
        ({"kind": "cursor", "argument": "c", "cursor": ["next"], "more": "has_more"}, {}, None),
    ]

    async def story(browser: Browser) -> None:
        for next_page, given, expected in cases:
            contents = make_view("table", column("name"), next_page=next_page)
            result = result_of({**rows, "next": "n", "has_more": False})
            async with shown(browser, contents, result, input=given) as (page, _):
                await page.wait_for("document.querySelectorAll('tr[data-index]').length === 2")
                await page.evaluate("document.querySelector('.buttons button')?.click()")
                expected_calls = (
                    [] if expected is None else [{"name": "pets", "arguments": expected}]
                )
                calls = await received(page, "tools/call", count=len(expected_calls))
                assert calls == expected_calls, next_page

    tell(story)


def test_a_gallery_shows_pictures_of_data_urls_and_permitted_origins_only(tell: Tell) -> None:
    contents = make_view(
        "gallery", column("photo"), column("name"), image_origins=["https://images.example"]
    )
    photos = [
        PIXEL,
        "https://images.example/rex.png",
        "https://other.example/rex.png",
        "https://images.example.evil.example/rex.png",
        "data:image/svg+xml;base64,PHN2Zy8+",
        "javascript:alert(1)",
        None,
    ]

    async def story(browser: Browser) -> None:
        result = result_of(
            {"items": [{"name": f"n{n}", "photo": it} for n, it in enumerate(photos)]}
        )
        async with shown(browser, contents, result) as (page, _):
            await page.wait_for("document.querySelectorAll('.tile').length > 3")
            await page.evaluate("document.querySelector('.scroller').style.height = '900px'")
            await page.wait_for("document.querySelectorAll('.tile').length === 7")
            requested = {url for url in page.requested if "example" in url}
            assert requested == {"https://images.example/rex.png"}
            sources = await page.evaluate(
                "[...document.querySelectorAll('img')].map((it) => it.src)"
            )
            assert sources in ([PIXEL], [PIXEL, "https://images.example/rex.png"])  # none is there
            titles = await page.texts(".title")
            assert titles == [f"n{n}" for n in range(7)]
        assert contents["_meta"]["ui"]["csp"]["resourceDomains"] == ["https://images.example"]

    tell(story)


def test_ten_thousand_pictures_keep_few_tiles_in_the_page(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        contents = make_view("gallery", column("photo"), column("name"))
        async with shown(browser, contents, many(10_000)) as (page, _):
            await page.wait_for("document.querySelectorAll('.tile').length > 5")
            await page.evaluate("document.querySelector('.tile').focus()")
            await page.press("ArrowRight", "ArrowDown")
            assert await focused(page) == "4"  # three in a line
            await page.press("End")
            assert await focused(page) == "9999"
            assert await page.count(".tile") < 40
            await page.press("Enter")
            await page.wait_for("!document.querySelector('.panel').hidden")
            await page.press("Escape")
            assert await focused(page) == "9999"

    tell(story)


def test_a_chart_draws_times_as_a_line_and_names_as_bars(tell: Tell) -> None:
    contents = make_view("chart", column("day"), column("visits", "integer", label="Visits"))
    days = [{"day": f"2026-0{n}-01", "visits": n * 10} for n in range(1, 7)]
    names = [{"day": f"shop {n}", "visits": n * 10} for n in range(1, 7)]

    async def story(browser: Browser) -> None:
        async with shown(browser, contents, result_of({"items": days}), context=BRITISH) as (
            page,
            _,
        ):
            path = await page.wait_for("document.querySelector('path.line')?.getAttribute('d')")
            assert path.count("L") == 5
            await page.evaluate("document.querySelector('.plots').focus()")
            await page.press("ArrowRight", "ArrowRight")
            told = await page.evaluate("document.querySelector('.announcement').textContent")
            assert told == "Visits 1 Feb 2026: 20"
        async with shown(browser, contents, result_of({"items": names})) as (page, _):
            await page.wait_for("document.querySelectorAll('rect.mark').length === 6")
            bars = "[...document.querySelectorAll('rect.mark')]"
            heights = await page.evaluate(f"{bars}.map((it) => Number(it.getAttribute('height')))")
            assert [round(it / heights[0]) for it in heights] == [1, 2, 3, 4, 5, 6]
            await page.evaluate("document.querySelector('details').open = true")
            await page.wait_for("document.querySelectorAll('tr[data-index]').length === 6")

    tell(story)


def test_a_chart_of_ten_thousand_points_keeps_the_peak_and_few_points(tell: Tell) -> None:
    contents = make_view("chart", column("name"), column("age", "integer"))

    async def story(browser: Browser) -> None:
        rows = [{"name": f"n{n}", "age": 1000 if n == 4321 else n % 7} for n in range(10_000)]
        async with shown(browser, contents, result_of({"items": rows})) as (page, _):
            path = await page.wait_for("document.querySelector('path.line')?.getAttribute('d')")
            points = [tuple(map(float, it.split())) for it in path.replace("M", "L").split("L")[1:]]
            assert len(points) < 2 * 760
            top = min(y for _, y in points)
            assert sum(y == top for _, y in points) == 1
            assert top < 60

    tell(story)


def test_a_list_that_is_empty_or_has_another_shape_is_told(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        results = (
            (result_of({"items": []}), "There is nothing to show."),
            (result_of({"other": 1}), "text"),
            (
                {"content": [{"type": "text", "text": "no pets"}], "isError": True},
                "The call did not succeed.no pets",
            ),
        )
        for result, told in results:
            async with shown(browser, TABLE, result) as (page, _):
                await page.wait_for(f"document.querySelector('main').textContent === {told!r}")

    tell(story)
