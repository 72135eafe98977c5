"""Questions at a terminal: Enter takes the default, `?` explains, Ctrl-C raises KeyboardInterrupt.

questionary asks them: its lists, filters and key bindings are what a plain prompt lacks, and other
commands use it already.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mcpgen.cli.output.visible import visible

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent
    from questionary import Question

_WIDTH = 78
_EXPLAIN = "?"


def show(text: str) -> None:
    """Print a text beside the questions, wrapped."""
    import questionary

    lines = textwrap.wrap(
        visible(text), _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
    questionary.print("\n".join(lines), style="italic")


def ask_text(
    question: str,
    default: str,
    explanation: str,
    *,
    find_fault: Callable[[str], str] = lambda _: "",
    is_path: bool = False,
) -> str:
    """Ask for a text; an empty answer is the default.

    `find_fault` returns why an answer is invalid, or "".
    """
    import questionary

    def validate(answer: str) -> bool | str:
        return find_fault(answer or default) or True

    def make() -> Question:
        message = visible(f"{question} [{default}]" if default else question)
        ask = questionary.path if is_path else questionary.text
        return ask(message, validate=validate)

    return str(_ask(make, explanation)).strip() or default


def ask_choice(
    question: str, choices: Sequence[tuple[str, str]], default: str, explanation: str
) -> str:
    """Ask for one of several values, each given with its text; return the value."""
    import questionary

    def make() -> Question:
        shown = [questionary.Choice(visible(text), value) for value, text in choices]
        return questionary.select(visible(question), shown, default=default)

    return str(_ask(make, explanation))


def ask_choices(question: str, choices: Sequence[tuple[str, str]], explanation: str) -> list[str]:
    """Ask for at least one of several values, each given with its text; typing filters them."""
    import questionary

    def validate(chosen: list[str]) -> bool | str:
        return bool(chosen) or "select at least one, with the space bar"

    def make() -> Question:
        shown = [questionary.Choice(visible(text), value) for value, text in choices]
        return questionary.checkbox(
            visible(question),
            shown,
            validate=validate,
            instruction="(Space selects, letters filter, Enter ends)",
            use_jk_keys=False,
            use_search_filter=True,
        )

    return [str(value) for value in _ask(make, explanation)]


def ask_yes(question: str, explanation: str, *, default: bool) -> bool:
    """Ask a question that is answered with yes or no."""
    import questionary

    return bool(_ask(lambda: questionary.confirm(visible(question), default), explanation))


def _ask(make: Callable[[], Question], explanation: str) -> Any:
    """Ask a question again after each request for its explanation."""
    while True:
        question = make()
        _bind_explanation(question)
        answer = question.unsafe_ask()
        if answer != _EXPLAIN:
            return answer
        show(explanation)


def _bind_explanation(question: Question) -> None:
    """Let `?` end the question with `_EXPLAIN`, unless it is part of a longer text."""
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings

    bindings = KeyBindings()

    @bindings.add(_EXPLAIN, filter=Condition(lambda: not get_app().current_buffer.text), eager=True)
    def explain(event: KeyPressEvent) -> None:
        event.app.erase_when_done = True
        event.app.exit(result=_EXPLAIN)

    application = question.application
    own = [application.key_bindings] if application.key_bindings is not None else []
    application.key_bindings = merge_key_bindings([*own, bindings])
