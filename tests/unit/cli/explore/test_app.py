"""Tests of the terminal view by keys: list, form, call, result, and failing servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from mcpgen.cli.explore.app import ExploreApp
from mcpgen.cli.explore.confirm import ConfirmScreen
from mcpgen.cli.explore.fields import ArgumentField
from mcpgen.factory.explore.explorer import Explorer
from mcpgen.factory.wire.targets import Target, find_target
from tests.support.explored_server import TOOL, write_server
from tests.support.paths import EXAMPLES
from tests.support.running_process import wait_for_end

NARROW, WIDE = (80, 24), (140, 40)
WAIT_SECONDS = 60
PETSTORE = EXAMPLES / "petstore-mcp"


class View:
    """The application as its user sees it."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot
        self.app = pilot.app

    @property
    def screen(self) -> str:
        """The text that the terminal shows."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    def text(self, pane: str) -> str:
        return self.app.screen.query_one(f"#{pane} TextArea", TextArea).text

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*text)

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in self.screen)

    async def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not holds():
            assert time.monotonic() < deadline, self.screen
            await self.pilot.pause(0.02)

    async def choose(self, tool: str) -> None:
        """Filter the list, and open the form of the first tool."""
        await self.press("ctrl+f")
        self.app.query_one("#filter", Input).value = tool
        await self.shows(f"│ {tool}")
        await self.press("enter")


def explore(
    target: Target,
    story: Callable[[View], Awaitable[None]],
    *,
    size: tuple[int, int] = NARROW,
    **options: Any,
) -> None:
    async def run() -> None:
        explorer = Explorer(target, **options)
        try:
            async with ExploreApp(explorer).run_test(size=size) as pilot:
                await story(View(pilot))
        finally:
            await explorer.stop()

    asyncio.run(run())


def petstore() -> Target:
    return find_target([str(PETSTORE)])


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_a_tool_is_found_and_called_by_keys_alone(size: tuple[int, int]) -> None:
    async def story(view: View) -> None:
        await view.shows("petstore · mock API · MCP 2025-11-25 · 14 tools")
        await view.press("slash")
        await view.type("fetch pet")
        await view.until(lambda: view.app.query_one(OptionList).option_count == 1)
        await view.press("down", "enter")
        await view.shows("pet_id *  integer")
        await view.type("7")
        await view.press("ctrl+r")
        await view.shows('"name": "Rex"')
        assert "get_pet: done in " in view.screen
        assert "> GET http://127.0.0.1:" in view.text("request")
        assert "/v1/pets/7\n" in view.text("request")
        assert "> X-Petstore-Key: mock-value" in view.text("request")
        assert "< 200\n" in view.text("request")
        await view.press("f5")
        await view.shows("/v1/pets/7")
        await view.press("f3")
        await view.shows('"minimum": 1')

    explore(petstore(), story, size=size)


def test_all_keys_and_the_button_fit_into_80_columns() -> None:
    async def story(view: View) -> None:
        await view.shows("cancel_order")
        footer = view.screen.splitlines()[-1]
        for label in ("Filter", "Call", "Back", "Form", "Schema", "Result", "Request", "Quit"):
            assert label in footer
        assert "Call" in view.screen.splitlines()[-2]

    explore(petstore(), story)


def test_a_wide_terminal_shows_form_and_result_side_by_side() -> None:
    async def story(view: View) -> None:
        await view.shows("No call yet")
        await view.shows("order_id *")
        assert "No call yet" in view.screen

    explore(petstore(), story, size=WIDE)


def test_an_invalid_argument_is_reported_at_its_field_and_not_sent() -> None:
    async def story(view: View) -> None:
        await view.shows("cancel_order")
        await view.choose("get_pet")
        await view.press("ctrl+r")
        await view.shows("`/pet_id` is required and was not given")
        await view.type("0")
        await view.shows("`/pet_id` must be at least 1, not 0")
        await view.press("ctrl+r")
        assert "1 invalid argument" in view.screen
        assert not view.app._explorer.calls  # type: ignore[attr-defined]
        await view.press("backspace")
        await view.type("5")
        await view.until(lambda: "invalid argument" not in view.screen)
        await view.press("enter")
        await view.shows("get_pet: done")

    explore(petstore(), story)


def test_typed_arguments_are_remembered_while_another_tool_is_shown() -> None:
    async def story(view: View) -> None:
        await view.shows("cancel_order")
        await view.choose("get_pet")
        await view.type("41")
        await view.choose("get_order")
        await view.shows("order_id *")
        await view.choose("get_pet")
        await view.shows("pet_id *")
        fields = {it.field.name: it.text for it in view.app.query(ArgumentField)}
        assert fields == {"pet_id": "41", "continue_from": ""}

    explore(petstore(), story)


def test_a_required_object_begins_with_a_sample_that_can_be_sent() -> None:
    async def story(view: View) -> None:
        await view.shows("cancel_order")
        await view.choose("create_pet")
        await view.shows('"species": ')
        await view.press("ctrl+r")
        await view.shows("create_pet: done")

    explore(petstore(), story)


def test_earlier_calls_are_shown_again() -> None:
    async def story(view: View) -> None:
        await view.shows("cancel_order")
        await view.choose("get_pet")
        for digit in "78":
            await view.press("f2", "backspace")
            await view.type(digit)
            await view.press("ctrl+r")
            await view.until(lambda digit=digit: f"/pets/{digit}\n" in view.text("request"))
        await view.shows("(call 2 of 2)")
        await view.press("left_square_bracket", "left_square_bracket")
        await view.shows("(call 1 of 2)")
        assert "/pets/7\n" in view.text("request")
        await view.press("right_square_bracket")
        await view.shows("(call 2 of 2)")

    explore(petstore(), story)


KINDS = {
    **TOOL,
    "name": "kinds",
    "inputSchema": {
        "type": "object",
        "properties": {
            "colour": {"enum": ["red", "green"]},
            "is_big": {"type": "boolean"},
            "ratio": {"type": "number"},
        },
    },
}


def test_choices_are_made_by_keys(tmp_path: Path) -> None:
    async def story(view: View) -> None:
        await view.shows("colour")
        await view.press("enter")
        await view.press("enter", "down", "down", "enter")  # opens, green, chooses
        await view.press("tab", "enter", "down", "enter")  # true
        await view.press("tab")
        await view.type("1.5")
        await view.press("ctrl+r")
        await view.shows("kinds: done")
        (record,) = view.app._explorer.calls  # type: ignore[attr-defined]
        assert record.arguments == {"colour": "green", "is_big": True, "ratio": 1.5}

    explore(write_server(tmp_path, tools=[KINDS]), story)


DELETING = {**TOOL, "name": "erase", "annotations": {"destructiveHint": True}}


@pytest.mark.parametrize(("key", "is_called"), [("y", True), ("n", False), ("enter", False)])
def test_a_live_tool_that_is_not_read_only_is_confirmed(
    key: str, is_called: bool, tmp_path: Path
) -> None:
    async def story(view: View) -> None:
        await view.shows("erase")
        await view.press("enter")
        await view.press("enter", "down", "enter", "ctrl+r")
        await view.until(lambda: isinstance(view.app.screen, ConfirmScreen))
        await view.shows("`erase` is not marked as read-only (destructive).")
        assert not (tmp_path / "called").exists()
        await view.press(key)
        await view.shows("erase: done" if is_called else "not called")
        assert (tmp_path / "called").exists() is is_called

    explore(write_server(tmp_path, tools=[DELETING]), story)


def test_a_mocked_tool_is_called_without_a_question() -> None:
    async def story(view: View) -> None:
        await view.shows("cancel_order")
        await view.choose("delete_pet")
        await view.type("7")
        await view.press("ctrl+r")
        await view.shows("delete_pet: done")

    explore(petstore(), story)


def test_a_server_that_dies_is_reported_and_started_by_the_next_call(tmp_path: Path) -> None:
    async def story(view: View) -> None:
        await view.shows("· 1 tool")
        await view.press("enter", "enter", "down", "down", "enter", "ctrl+r")
        await view.shows("wait: stopped")
        assert "I am dying" in view.screen
        assert "Traceback" not in view.screen
        await view.press("escape", "f2", "enter", "up", "enter", "ctrl+r")
        await view.shows("wait: done")

    explore(write_server(tmp_path), story)


def test_escape_cancels_a_call_of_a_server_that_hangs(tmp_path: Path) -> None:
    async def story(view: View) -> None:
        await view.shows("· 1 tool")
        await view.press("enter", "enter", "down", "down", "down", "enter", "ctrl+r")
        await view.shows("Esc cancels")
        pid = int((tmp_path / "pid").read_text())
        await view.press("escape")
        await view.shows("wait: cancelled")
        wait_for_end(pid)

    explore(write_server(tmp_path), story)


def test_a_server_that_hangs_is_reported_after_the_time_limit(tmp_path: Path) -> None:
    async def story(view: View) -> None:
        await view.shows("· 1 tool")
        await view.press("enter", "enter", "down", "down", "down", "enter", "ctrl+r")
        await view.shows("wait: no answer")

    explore(write_server(tmp_path), story, timeout_seconds=5.0)


def test_a_server_that_does_not_start_is_reported_and_started_again(tmp_path: Path) -> None:
    target = write_server(tmp_path)
    script = Path(target.command[1])
    working = script.read_text()
    script.write_text("import sys; sys.exit('no database')")

    def restore() -> None:
        script.write_text(working)

    async def story(view: View) -> None:
        await view.shows("The server cannot be used")
        assert "no database" in view.screen
        restore()
        await view.press("ctrl+r")
        await view.shows("· 1 tool")

    explore(target, story)


HOSTILE_TEXT = "[red]no markup[/] \x1b[31mred\u202eevil\u200b"
HOSTILE: dict[str, Any] = {
    "name": "[bold]x\x1b[2J",
    "title": HOSTILE_TEXT,
    "description": HOSTILE_TEXT,
    "inputSchema": {
        "type": "object",
        "properties": {
            "a[/]\u202e": {"type": "string", "description": HOSTILE_TEXT},
            "b": {"enum": [HOSTILE_TEXT]},
        },
    },
    "annotations": {"readOnlyHint": True},
}


def test_text_of_a_server_is_only_text(tmp_path: Path) -> None:
    result = {"content": [{"type": "text", "text": HOSTILE_TEXT}]}

    async def story(view: View) -> None:
        await view.shows("· 1 tool")
        await view.shows("[bold]x\\u001b[2J")
        await view.shows("[red]no markup[/] \\u001b[31mred\\u202eevil\\u200b")
        await view.shows("a[/]\\u202e")
        for pane in ("form", "schema", "result"):
            if pane == "result":
                await view.press("ctrl+r")
                await view.shows("done in")
            await view.press({"form": "f2", "schema": "f3", "result": "f4"}[pane])
            for character in ("\x1b", "\u202e", "\u200b"):
                assert character not in view.screen

    explore(write_server(tmp_path, tools=[HOSTILE], result=result), story, size=WIDE)


def test_quitting_ends_the_server(tmp_path: Path) -> None:
    async def story(view: View) -> None:
        await view.shows("· 1 tool")
        await view.press("ctrl+q")

    explore(write_server(tmp_path), story)
    wait_for_end(int((tmp_path / "pid").read_text()))


def test_a_thousand_tools_are_listed_and_filtered(tmp_path: Path) -> None:
    tools = [{**TOOL, "name": f"tool_{number}"} for number in range(1000)]

    async def story(view: View) -> None:
        await view.shows("1,000 tools")
        await view.choose("tool_777")
        await view.shows("│ tool_777")

    explore(write_server(tmp_path, tools=tools), story)
