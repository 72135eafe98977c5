"""The dialog before a call that is not read-only."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static


class ConfirmScreen(ModalScreen[bool]):
    """A dialog that asks whether to call a tool; "Cancel" has the focus."""

    CSS = """
    ConfirmScreen { align: center middle; }
    ConfirmScreen > Vertical {
        width: 60; max-width: 90%; height: auto; border: round $warning; padding: 1 2;
    }
    ConfirmScreen Horizontal { height: auto; align-horizontal: right; margin-top: 1; }
    ConfirmScreen Button { margin-left: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,n", "answer(False)", "Cancel"),
        ("y", "answer(True)", "Call"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Yield the question and its answers."""
        with Vertical():
            yield Static(self._question, markup=False)
            with Horizontal():
                yield Button("Cancel (n)", id="cancel", compact=True)
                yield Button("Call (y)", id="confirm", variant="warning", compact=True)

    def on_mount(self) -> None:
        """Focus the harmless answer."""
        self.query_one("#cancel", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        self.action_answer(event.button.id == "confirm")

    def action_answer(self, is_confirmed: bool) -> None:
        """Close the dialog."""
        self.dismiss(is_confirmed)
