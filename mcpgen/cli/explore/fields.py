"""Widgets for the arguments of a tool: one input with its label and its error per argument."""

from __future__ import annotations

import json
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Select, Static, TextArea

from mcpgen.cli.explore.texts import describe_empty_field, describe_type, shorten, show_lines
from mcpgen.cli.output.visible import visible
from mcpgen.factory.explore.form import FormField

_MAX_DESCRIPTION: Final = 200


class ArgumentField(Vertical):
    """One argument: label, description, input, error."""

    DEFAULT_CSS = """
    ArgumentField { height: auto; margin-bottom: 1; }
    ArgumentField > .description { text-style: dim; }
    ArgumentField > .error { color: $error; display: none; }
    ArgumentField.-invalid > .error { display: block; }
    ArgumentField > .-textual-compact {
        border-left: vkey $primary !important; padding: 0 1;
    }
    ArgumentField > .-textual-compact:focus { border-left: thick $accent !important; }
    ArgumentField TextArea { height: auto; min-height: 2; max-height: 8; }
    """

    def __init__(self, field: FormField, text: str) -> None:
        """Make the widget with a text that was typed before."""
        super().__init__()
        self.field = field
        self._input = _make_input(field, text)
        self._error = Static(markup=False, classes="error")

    def compose(self) -> ComposeResult:
        """Yield the label, the input and the error."""
        yield Static(_make_label(self.field))
        if self.field.description:
            cut = shorten(visible(self.field.description), _MAX_DESCRIPTION)
            yield Static(cut, markup=False, classes="description")
        yield self._input
        yield self._error

    @property
    def text(self) -> str:
        """The typed or selected text, as `Form.collect` expects it."""
        if isinstance(self._input, Select):
            return "" if self._input.is_blank() else str(self._input.value)
        return self._input.text if isinstance(self._input, TextArea) else self._input.value

    def show_error(self, message: str) -> None:
        """Show an error below the input; "" removes it."""
        self.set_class(bool(message), "-invalid")
        self._error.update(show_lines(message))

    def focus_input(self) -> None:
        """Move the focus to the input."""
        self._input.focus()


def _make_label(field: FormField) -> Content:
    return Content.assemble(
        (visible(field.name) or "arguments", "bold"),
        (" *" if field.is_required else "", "ansi_red"),
        (f"  {describe_type(field)}", "dim"),
    )


def _make_input(field: FormField, text: str) -> Input | TextArea | Select[str]:
    if field.kind == "choice":
        options = [
            (Content(visible(it if isinstance(it, str) else json.dumps(it))), json.dumps(it))
            for it in field.choices
        ]
        chosen = text if text in {value for _, value in options} else Select.NULL
        return Select(options, value=chosen, prompt="omitted", compact=True)
    if field.kind == "json":
        return TextArea(text, compact=True, placeholder=describe_empty_field(field))
    return Input(text, compact=True, placeholder=describe_empty_field(field))
