"""The application of `mcpgen explore`: tools at the left; form, schema, result at the right."""

from __future__ import annotations

import os
import time
from typing import ClassVar, Final

from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import (
    Button,
    Footer,
    Input,
    OptionList,
    Select,
    Static,
    TabbedContent,
    TabPane,
    TextArea,
)
from textual.widgets.option_list import Option

from mcpgen.cli.explore.confirm import ConfirmScreen
from mcpgen.cli.explore.fields import ArgumentField
from mcpgen.cli.explore.texts import (
    describe_call,
    describe_effect,
    describe_requests,
    describe_schema,
    describe_title,
    describe_trouble,
    format_seconds,
    shorten,
    show_lines,
)
from mcpgen.cli.output.visible import visible
from mcpgen.factory.explore.explorer import Explorer, TroubleError
from mcpgen.factory.explore.form import Arguments, Form
from mcpgen.factory.explore.tools import MARKS, ExploredTool, filter_tools
from mcpgen.text.counts import format_count

_MAX_SERVER_NAME: Final = 36
_WIDE_COLUMNS: Final = 120
_NAME_COLUMNS: Final = {False: 20, True: 30}  # of the list, by whether the terminal is wide
_TICK_SECONDS: Final = 0.2
_COLOURS: Final = {
    "read-only": "ansi_green",
    "writes": "ansi_blue",
    "destructive": "ansi_red",
    "effect unknown": "ansi_magenta",
}
_LIGHT_BACKGROUNDS: Final = ("7", "15")  # of COLORFGBG, which some terminals set


class ExploreApp(App[None], inherit_bindings=False):
    """A view of one server."""

    TITLE = "mcpgen explore"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE_COLUMNS, "-wide")]  # noqa: RUF012  (textual declares its type)
    CSS = """
    #heading { height: 1; text-style: reverse; padding: 0 1; }
    #tools { width: 31; border-right: solid ansi_bright_black; }
    #list { height: 1fr; scrollbar-size-vertical: 1; }
    #list > .option-list--option-highlighted {
        color: $foreground; background: $background; text-style: bold underline;
    }
    #list:focus > .option-list--option-highlighted {
        color: ansi_black; background: ansi_white; text-style: bold;
    }
    #filter { margin-bottom: 1; border-left: vkey $primary !important; padding-left: 1; }
    #filter:focus { border-left: thick $accent !important; }
    #right { width: 1fr; }
    #tool, #outcome { width: 1fr; height: 1fr; padding-left: 1; }
    #title { text-style: bold; }
    #effect { text-style: dim; }
    #description { margin-bottom: 1; }
    #fields { height: 1fr; scrollbar-size-vertical: 1; }
    #actions { height: 1; dock: bottom; }
    #call { min-width: 12; margin-right: 2; }
    #status { width: 1fr; }
    #status.-error { color: $error; }
    TabPane { padding: 0; }
    TabbedContent > ContentSwitcher { height: 1fr; }
    TextArea { scrollbar-size-vertical: 1; }
    Screen.-narrow #outcome { display: none; }
    Screen.-narrow.-outcome #outcome { display: block; }
    Screen.-narrow.-outcome #tool { display: none; }
    Screen.-wide #tools { width: 41; }
    Screen.-wide #outcome { border-left: solid ansi_bright_black; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "filter", "Filter", priority=True),
        Binding("slash", "filter", show=False),
        Binding("down", "list", show=False),
        Binding("left_square_bracket", "show_call(-1)", show=False),
        Binding("right_square_bracket", "show_call(1)", show=False),
        Binding("ctrl+r", "call", "Call", priority=True),
        Binding("escape", "back", "Back"),
        Binding("f2", "show('form')", "Form", priority=True),
        Binding("f3", "show('schema')", "Schema", priority=True),
        Binding("f4", "show('result')", "Result", priority=True),
        Binding("f5", "show('request')", "Request", priority=True),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    def __init__(self, explorer: Explorer) -> None:
        super().__init__()
        background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
        self.theme = "ansi-light" if background in _LIGHT_BACKGROUNDS else "ansi-dark"
        self.animation_level = "none"
        self._explorer = explorer
        self._tools: list[ExploredTool] = []
        self._shown: list[ExploredTool] = []
        self._tool: ExploredTool | None = None
        self._form = Form({})
        self._typed: dict[str, dict[str, str]] = {}  # by tool and argument
        self._is_form_ready = True  # False while the fields of another tool are being made
        self._enters_form = False  # as soon as it is ready
        self._began = 0.0  # start of the running call; 0.0 if there is none
        self._shown_call = 0  # its place in the calls of the explorer
        self._was_rejected = False  # the arguments of the form, at the last call

    def compose(self) -> ComposeResult:
        """Yield the panes."""
        yield Static(markup=False, id="heading")
        with Horizontal():
            with Vertical(id="tools"):
                yield Input(placeholder="filter", compact=True, id="filter")
                yield OptionList(markup=False, compact=True, id="list")
            with Horizontal(id="right"):
                with TabbedContent(id="tool"):
                    with TabPane("Form", id="form"):
                        with VerticalScroll(id="fields", can_focus=False):
                            yield Static(markup=False, id="title")
                            yield Static(markup=False, id="effect")
                            yield Static(markup=False, id="description")
                            yield Vertical(id="arguments")
                        with Horizontal(id="actions"):
                            yield Button("Call", variant="primary", compact=True, id="call")
                            yield Static(markup=False, id="status")
                    with TabPane("Schema", id="schema"):
                        yield _make_text_view()
                with TabbedContent(id="outcome"):
                    with TabPane("Result", id="result"):
                        yield _make_text_view()
                    with TabPane("Request", id="request"):
                        yield _make_text_view()
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Start the server."""
        self._set_text("No call yet: fill in the form, and press Ctrl-R.", pane="result")
        self._set_text("No call yet.", pane="request")
        self.query_one("#arguments").styles.height = "auto"
        self.query_one("#list").focus()
        self.set_interval(_TICK_SECONDS, self._tick)
        self._connect()

    # The server

    @work(exclusive=True, group="server")
    async def _connect(self) -> None:
        self._set_heading("starting…")
        try:
            self._tools = await self._explorer.connect()
        except TroubleError as error:
            self._set_heading("cannot be used")
            self._set_text(describe_trouble(error), pane="result")
            self.action_show("result")
            return
        self._set_heading(
            f"MCP {self._explorer.revision} · {format_count(len(self._tools), 'tool')}"
        )
        self._show_tools()

    @work(exclusive=True, group="server")
    async def _call(self, tool: ExploredTool, arguments: Arguments) -> None:
        if not self._explorer.is_mocked and tool.effect != "read-only":
            question = (
                f"`{visible(tool.name)}` is not marked as read-only ({tool.effect}). Call it?"
            )
            if not await self.push_screen_wait(ConfirmScreen(question)):
                self._set_status("not called")
                return
        self._began = time.monotonic()
        self.query_one("#call", Button).disabled = True
        try:
            record = await self._explorer.call(tool.name, arguments.values)
        finally:
            self._began = 0.0
            self.query_one("#call", Button).disabled = False
        self._set_status(
            f"{record.outcome} in {format_seconds(record.seconds)}",
            is_error=record.outcome != "done",
        )
        self._shown_call = len(self._explorer.calls) - 1
        self.action_show_call(0)
        self.action_show("result")

    def _tick(self) -> None:
        if self._began:
            seconds = time.monotonic() - self._began
            if seconds >= 1:
                self._set_status(f"calling… {seconds:.0f} s, Esc cancels")

    # The list

    def _show_tools(self) -> None:
        chosen = self._tool.name if self._tool is not None else ""
        self._shown = filter_tools(self._tools, self.query_one("#filter", Input).value)
        options = self.query_one("#list", OptionList)
        options.set_options([Option(self._format_tool(it)) for it in self._shown])
        names = [it.name for it in self._shown]
        if names:
            options.highlighted = names.index(chosen) if chosen in names else 0

    def _format_tool(self, tool: ExploredTool) -> Content:
        room = _NAME_COLUMNS[self.screen.has_class("-wide")]
        name = visible(tool.name)
        cut = shorten(name, room)
        return Content.assemble(
            (MARKS[tool.effect], _COLOURS[tool.effect]),
            (f" {cut:<{room}}", "" if tool.is_listed else "dim"),
            (f"{tool.tokens:>6,}", "dim"),
        )

    @on(Input.Changed, "#filter")
    def _filter(self) -> None:
        self._show_tools()

    @on(OptionList.OptionHighlighted, "#list")
    def _choose(self, event: OptionList.OptionHighlighted) -> None:
        tool = self._shown[event.option_index]
        if self._tool is None or tool.name != self._tool.name:
            self._is_form_ready = False
            self._show_form(tool)

    @on(Input.Submitted, "#filter")
    @on(OptionList.OptionSelected, "#list")
    def _enter_form(self) -> None:
        self.action_show("form")

    def on_resize(self) -> None:
        """Fit the names of the list to its width."""
        self.call_after_refresh(self._show_tools)

    # The form

    @work(exclusive=True, group="form")
    async def _show_form(self, tool: ExploredTool) -> None:
        self._remember_typed()
        self._tool, self._form, self._was_rejected = tool, Form(tool.input_schema), False
        self.query_one("#title", Static).update(describe_title(tool))
        self.query_one("#effect", Static).update(describe_effect(tool))
        self.query_one("#description", Static).update(show_lines(tool.description))
        self._set_text(describe_schema(tool), pane="schema")
        self._set_status(self._form.trouble, is_error=bool(self._form.trouble))
        typed = self._typed.get(tool.name) or self._form.suggest()
        arguments = self.query_one("#arguments", Vertical)
        await arguments.remove_children()
        await arguments.mount(
            *(ArgumentField(it, typed.get(it.name, "")) for it in self._form.fields)
        )
        self.query_one("#fields").scroll_home(animate=False)
        self._is_form_ready = True
        if self._enters_form:
            self._focus_form()

    def _focus_form(self) -> None:
        """Move the focus to the first field, now or when the form is made."""
        self._enters_form = not self._is_form_ready
        if self._enters_form:
            return
        fields = list(self.query(ArgumentField))
        if fields:
            fields[0].focus_input()
        else:
            self.query_one("#call").focus()

    def _remember_typed(self) -> None:
        if self._tool is not None:
            self._typed[self._tool.name] = self._texts()

    def _texts(self) -> dict[str, str]:
        return {it.field.name: it.text for it in self.query(ArgumentField)}

    @on(Input.Submitted, "ArgumentField Input")
    def _submit(self) -> None:
        self.action_call()

    @on(Input.Changed, "ArgumentField Input")
    @on(TextArea.Changed, "ArgumentField TextArea")
    @on(Select.Changed, "ArgumentField Select")
    def _check_again(self) -> None:
        if self._was_rejected:
            self._check()

    def _check(self) -> Arguments:
        """Convert and validate the arguments, and show what is wrong with them."""
        arguments = self._form.collect(self._texts())
        for each in self.query(ArgumentField):
            each.show_error(arguments.errors.get(each.field.name, ""))
        others = "; ".join(map(visible, arguments.other_errors))
        count = format_count(len(arguments.errors), "invalid argument") if arguments.errors else ""
        self._set_status(others or count, is_error=True)
        return arguments

    @on(Button.Pressed, "#call")
    def _press(self) -> None:
        self.action_call()

    # Actions

    def action_filter(self) -> None:
        """Move to the filter of the list."""
        self.query_one("#filter").focus()

    def action_list(self) -> None:
        """Move from the filter to the list."""
        if self.query_one("#filter").has_focus:
            self.query_one("#list").focus()

    def action_call(self) -> None:
        """Call the tool with the arguments of the form, or start a server that did not start."""
        # The key may overtake those that were typed before it, which wait in the queue of a field.
        self.call_after_refresh(self._begin_call)

    def _begin_call(self) -> None:
        if self._began:
            return
        if self._tool is None:
            self._connect()
            return
        arguments = self._check()
        self._was_rejected = not arguments.is_valid
        if arguments.is_valid:
            self._call(self._tool, arguments)
            return
        self.action_show("form")
        for each in self.query(ArgumentField):
            if each.field.name in arguments.errors:
                each.focus_input()
                return

    async def action_back(self) -> None:
        """Cancel the running call, or leave the result for the form, or the form for the list."""
        if self._began:
            self._set_status("stopping the server…")
            await self._explorer.cancel()
        elif self.screen.has_class("-outcome"):
            self.action_show("form")
        else:
            self.query_one("#list").focus()

    def action_show(self, pane: str) -> None:
        """Show one pane and move the focus into it."""
        is_outcome = pane in ("result", "request")
        self.screen.set_class(is_outcome, "-outcome")
        self.query_one("#outcome" if is_outcome else "#tool", TabbedContent).active = pane
        if pane == "form":
            self._focus_form()
        else:
            self.query_one(f"#{pane} TextArea").focus()

    def action_show_call(self, step: int) -> None:
        """Show an earlier or a later call, if there is one."""
        calls = self._explorer.calls
        if not calls:
            return
        self._shown_call = min(max(self._shown_call + step, 0), len(calls) - 1)
        record = calls[self._shown_call]
        place = f" (call {self._shown_call + 1} of {len(calls)})" if len(calls) > 1 else ""
        self._set_text(describe_call(record, place), pane="result")
        is_mocked = self._explorer.is_mocked
        self._set_text(describe_requests(record, is_mocked=is_mocked), pane="request")

    # Texts

    def _set_heading(self, text: str) -> None:
        name = shorten(visible(self._explorer.name), _MAX_SERVER_NAME)
        api = "mock API" if self._explorer.is_mocked else "live"
        self.query_one("#heading", Static).update(f"{name} · {api} · {text}")

    def _set_status(self, text: str, *, is_error: bool = False) -> None:
        status = self.query_one("#status", Static)
        status.set_class(is_error, "-error")
        status.update(text)

    def _set_text(self, text: str, *, pane: str) -> None:
        self.query_one(f"#{pane} TextArea", TextArea).load_text(text)


def _make_text_view() -> TextArea:
    return TextArea(read_only=True, compact=True, show_cursor=False, highlight_cursor_line=False)
