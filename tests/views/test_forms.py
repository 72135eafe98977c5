"""Tests of forms, records, and messages between a view and its host."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.browser import Browser, Page
from tests.support.paths import CACHE
from tests.support.running_server import installed
from tests.support.view_host import click, received, shown, tell_view
from tests.support.views import column, make_view, result_of

Tell = Callable[[Callable[[Browser], Any]], None]
SCHEMA = {
    "type": "object",
    "required": ["name", "body"],
    "properties": {
        "name": {"type": "string", "description": "What it is called."},
        "age": {"type": ["integer", "null"]},
        "kind": {"enum": ["cat", "dog"]},
        "tame": {"type": "boolean"},
        "body": {
            "type": "object",
            "required": ["city"],
            "properties": {"city": {"type": "string"}, "tags": {"type": "array"}},
        },
        "owner": {"$ref": "#/$defs/Owner"},
    },
    "$defs": {
        "Owner": {
            "type": "object",
            "required": ["phone"],
            "properties": {"phone": {"type": "string"}, "name": {"type": "string"}},
        }
    },
}
GIVEN = {
    "name": "Rex",
    "kind": "dog",
    "body": {"city": "Ghent", "tags": ["a", 1], "more": {"x": 1}},
    "extra": 7,
}
DELETION = make_view(
    "form",
    tool={"inputSchema": SCHEMA, "annotations": {"destructiveHint": True}},
    operation="DELETE /pets/{petId}",
    confirm="Delete this pet?",
)


async def set_field(page: Page, label: str, value: str) -> None:
    is_right = f"(it) => it.querySelector('.name bdi').textContent === {label!r}"
    field = f"[...document.querySelectorAll('label')].find({is_right}).control"
    await page.evaluate(f"{field}.value = {json.dumps(value)}")


def test_a_form_shows_what_will_be_sent_before_the_server_sends_it(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        async with shown(browser, DELETION, input=GIVEN) as (page, _):
            await page.wait_for("document.querySelector('.sent') !== null")
            told = await page.evaluate("document.querySelector('main').innerText")
            for part in (
                "Delete this pet?",
                "DELETE /pets/{petId}",
                "Rex",
                '["a",1]',
                "extra",
                "7",
                "Ghent",
            ):
                assert part in told
            assert "What will be sent" in told
            assert await page.count("button, input") == 0
            result = {
                "isError": True,
                "content": [{"type": "text", "text": "The user did not agree."}],
            }
            await tell_view(page, "ui/notifications/tool-result", result)
            await page.wait_for("document.querySelector('.notice.danger') !== null")
            assert "did not agree" in await page.evaluate(
                "document.querySelector('.answer').textContent"
            )
            assert await received(page, "tools/call") == []

    tell(story)


def test_a_changed_call_is_sent_after_a_review_and_keeps_what_was_not_changed(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        answers = [result_of({"id": 5})]
        async with shown(browser, DELETION, result_of({}), input=GIVEN, answers=answers) as (
            page,
            _,
        ):
            await click(page, "Change and send again")
            await set_field(page, "Name", "Mia")
            await set_field(page, "Age", "12")
            await set_field(page, "Phone", "+32 1")
            await click(page, "Review")
            assert await received(page, "tools/call") == []
            told = await page.evaluate("document.querySelector('main').innerText")
            assert "What will be sent" in told
            assert "This changes or deletes something." in told
            assert "Mia" in told
            await click(page, "Back")
            await page.evaluate("document.querySelector('input').focus()")
            await page.press("Enter")
            await click(page, "Send")
            await page.wait_for("document.querySelector('.notice.success') !== null")
            assert await received(page, "tools/call") == [
                {
                    "name": "pets",
                    "arguments": {**GIVEN, "name": "Mia", "age": 12, "owner": {"phone": "+32 1"}},
                }
            ]
            (context,) = await received(page, "ui/update-model-context", count=1)
            assert "sent `pets` again" in context["content"][0]["text"]

    tell(story)


def test_an_unchanged_form_sends_the_same_arguments_and_a_reading_call_needs_no_review(
    tell: Tell,
) -> None:
    contents = make_view(
        "form",
        tool={"inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
        operation="GET /pets",
    )

    async def story(browser: Browser) -> None:
        async with shown(
            browser, contents, result_of({}), input=GIVEN, answers=[result_of({})]
        ) as (page, _):
            await click(page, "Change and send again")
            await click(page, "Send")
            await received(page, "tools/call", count=1)
            assert (await received(page, "tools/call"))[0]["arguments"] == GIVEN

    tell(story)


@pytest.mark.parametrize(
    ("label", "value", "told"),
    [
        ("Age", "young", "Write a number."),
        ("Age", "1.5", "Write a whole number."),
        ("Tags", "[1,", "Write JSON: a text in double quotes, a number, a list or an object."),
    ],
)
def test_a_field_that_cannot_be_read_is_marked_and_nothing_is_sent(
    label: str, value: str, told: str, tell: Tell
) -> None:
    async def story(browser: Browser) -> None:
        async with shown(browser, DELETION, result_of({}), input=GIVEN) as (page, _):
            await click(page, "Change and send again")
            await set_field(page, label, value)
            await click(page, "Review")
            assert await page.evaluate("document.querySelector('[aria-invalid]').value") == value
            assert (
                await page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true"
            )
            assert (
                await page.evaluate("document.querySelector('.problem:not(:empty)').textContent")
                == told
            )
            await click(page, "Cancel")
            assert await received(page, "tools/call") == []

    tell(story)


def test_a_host_that_calls_no_tools_gets_a_form_without_buttons(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        async with shown(browser, DELETION, result_of({}), input=GIVEN, capabilities={}) as (
            page,
            _,
        ):
            await page.wait_for("document.querySelector('.notice.success') !== null")
            assert await page.count("button") == 0

    tell(story)


def test_a_record_shows_members_lists_and_objects(tell: Tell) -> None:
    value = {
        "petId": 7,
        "bornOn": "2017-02-03",
        "seen": "2026-11-02T09:14:00Z",
        "price": {"amount": "3.00", "currency": "EUR"},
        "owner": {
            "name": "Ada",
            "address": {"city": "Ghent", "street": "Kaai 1", "code": "9000", "country": "BE"},
        },
        "visits": [{"at": 1}, {"at": 2}],
        "notes": "one\ntwo",
        "gone": None,
    }

    async def story(browser: Browser) -> None:
        context = {"locale": "en-GB", "timeZone": "UTC"}
        async with shown(browser, make_view("record"), result_of(value), context=context) as (
            page,
            _,
        ):
            await page.wait_for("document.querySelector('dl') !== null")
            told = await page.evaluate("document.querySelector('main').innerText")
            flat = " ".join(told.split())
            assert "Pet ID 7 Born on 3 Feb 2017 Seen 2 Nov 2026, 09:14 Price 3.00 EUR" in flat
            assert "Owner Name Ada Address City Ghent Street Kaai 1 Code 9000 Country BE" in flat
            assert "one\ntwo" in told
            assert flat.endswith("Gone \u2013")
        members = make_view("record", column("owner.name", label="Owner"))
        async with shown(browser, members, result_of(value)) as (page, _):
            await page.wait_for("document.querySelector('dl')?.textContent === 'OwnerAda'")

    tell(story)


def test_theme_language_and_style_follow_the_host(tell: Tell) -> None:
    context = {
        "theme": "dark",
        "locale": "ar",
        "styles": {
            "variables": {
                "--color-background-primary": "rgb(1, 2, 3)",
                "--evil": "x",
                "color": "red",
            }
        },
    }

    async def story(browser: Browser) -> None:
        contents = make_view("table", column("name"), column("age", "integer"))
        result = result_of({"items": [{"name": "قط", "age": 3}]})
        async with shown(browser, contents, result, context=context) as (page, _):
            await page.wait_for("document.querySelector('tr[data-index]') !== null")
            background = "getComputedStyle(document.body).backgroundColor"
            assert await page.evaluate(background) == "rgb(1, 2, 3)"
            assert await page.evaluate("document.documentElement.dir") == "rtl"
            assert await page.evaluate("document.documentElement.lang") == "ar"
            cells = "[...document.querySelector('tr[data-index]').cells]"
            first, second = await page.evaluate(
                f"{cells}.map((it) => it.getBoundingClientRect().left)"
            )
            assert first > second  # columns run from the right
            heading = "document.querySelector('h1').getBoundingClientRect().right"
            assert await page.evaluate(heading) > 700
            change = {"theme": "light", "locale": "en", "styles": {"variables": {}}}
            await tell_view(page, "ui/notifications/host-context-changed", change)
            await page.wait_for("document.documentElement.dir === 'ltr'")
            assert await page.evaluate("document.documentElement.style.colorScheme") == "light"
            assert (
                await page.evaluate("document.documentElement.style.getPropertyValue('--evil')")
                == ""
            )

    tell(story)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(scheme: str, tell: Tell) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    contrast = """
      (() => {
        const light = (colour) => {
          const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((it) => it / 255);
          const linear = (it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4);
          const [r, g, b] = parts.map(linear);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (node) => {
          for (let at = node; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (!/, 0\\)$/.test(colour)) return colour;
          }
        };
        const ratios = [];
        const texts = 'h1, h2, dt, dd, bdi, button, .notice *, .count, .about, code';
        for (const node of document.querySelectorAll(texts)) {
          if (!node.textContent) continue;
          const colours = [getComputedStyle(node).color, behind(node)];
          const [one, other] = colours.map(light).sort((a, b) => b - a);
          ratios.push((one + 0.05) / (other + 0.05));
        }
        return ratios;
      })()
    """

    async def story(browser: Browser) -> None:
        table = make_view("table", column("name"), column("url"))
        rows = result_of({"items": [{"name": "Rex", "url": "https://a.example"}]})
        async with shown(browser, table, rows, scheme=scheme) as (page, _):
            await page.wait_for("document.querySelector('tr[data-index]') !== null")
            assert min(await page.evaluate(contrast)) >= 4.5
        async with shown(browser, DELETION, result_of({"a": 1}), input=GIVEN, scheme=scheme) as (
            page,
            _,
        ):
            await page.wait_for("document.querySelector('.notice') !== null")
            assert min(await page.evaluate(contrast)) >= 4.5
            await click(page, "Change and send again")
            await click(page, "Review")
            assert min(await page.evaluate(contrast)) >= 4.5

    tell(story)


def test_a_view_answers_its_host_and_reports_its_size(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        async with shown(browser, make_view("record"), result_of({"a": 1})) as (page, _):
            await page.wait_for("document.querySelector('dl') !== null")
            answers = []
            for number, method in enumerate(
                ("ping", "ui/resource-teardown", "sampling/createMessage")
            ):
                await page.evaluate(f"window.askView({number + 50}, {method!r})", in_frame=False)
                find = f"window.received.find((it) => it.id === {number + 50})"
                answers.append(await page.wait_for(find, in_frame=False))
            assert [it.get("result", it.get("error")) for it in answers] == [
                {},
                {},
                {"code": -32601, "message": "Method not found"},
            ]
            height = await page.evaluate(
                "Math.ceil(document.getElementById('app').getBoundingClientRect().height)"
            )
            sizes = "window.received.filter((it) => it.method === 'ui/notifications/size-changed')"
            await page.wait_for(f"{sizes}.at(-1)?.params.height === {height}", in_frame=False)

    tell(story)


def test_a_cancelled_call_is_told(tell: Tell) -> None:
    async def story(browser: Browser) -> None:
        async with shown(browser, make_view("table", column("name"))) as (page, _):
            params = {"reason": "The user stopped it."}
            await page.evaluate(
                f"window.notifyView('ui/notifications/tool-cancelled', {params})", in_frame=False
            )
            told = await page.wait_for("document.querySelector('.notice')?.textContent")
            assert told == "The call was cancelled.The user stopped it."

    tell(story)


def test_the_messages_of_a_view_are_valid_in_the_schema_of_the_extension(tell: Tell) -> None:
    path = CACHE / "node" / "node_modules" / "@modelcontextprotocol" / "ext-apps"
    installed(path, "peers")
    from mcpgen.jsonschema.validation import SchemaValidator

    schema = json.loads((path / "dist" / "src" / "generated" / "schema.json").read_bytes())
    kinds = {
        "ui/initialize": "McpUiInitializeRequest",
        "ui/notifications/initialized": "McpUiInitializedNotification",
        "ui/notifications/size-changed": "McpUiSizeChangedNotification",
        "ui/open-link": "McpUiOpenLinkRequest",
        "ui/update-model-context": "McpUiUpdateModelContextRequest",
    }

    async def story(browser: Browser) -> None:
        contents = make_view(
            "form", operation="GET /pets", tool={"annotations": {"readOnlyHint": True}}
        )
        result = result_of({"url": "https://a.example"})
        async with shown(browser, contents, result, answers=[result]) as (page, _):
            await page.wait_for("document.querySelector('button.link') !== null")
            await page.evaluate("document.querySelector('button.link').click()")
            await click(page, "Change and send again")
            await click(page, "Send")
            await received(page, "ui/update-model-context", count=1)
            messages = await page.evaluate("window.received", in_frame=False)
        seen = {message["method"] for message in messages if "method" in message}
        assert seen == {*kinds, "tools/call"}
        for message in messages:
            if message["method"] in kinds:
                valid = {**schema, "$ref": f"#/$defs/{kinds[message['method']]}"}
                plain = {key: message[key] for key in ("method", "params") if key in message}
                assert SchemaValidator(valid).problems(plain) == ()

    tell(story)
