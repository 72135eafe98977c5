"""What `mcpgen new` asks a person at a terminal; nothing else in mcpgen asks anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from mcpgen.cli.misuse import MisuseError


class Order(Struct, frozen=True):
    """What to make, of what and where; "" and None leave the choice to the generator."""

    source: str
    directory: Path | None
    name: str
    answers: Mapping[str, str] = field(default_factory=dict)  # to the skeleton's questions


def ask(source: str | None, directory: Path | None, name: str, answers: Mapping[str, str]) -> Order:
    """Ask for what was not given on the command line.

    Raises:
        KeyboardInterrupt: the person does not want to go on.
    """
    import questionary

    if source is None:
        source = questionary.path(
            "Where is the API description? A file or a URL:", validate=_source_problem
        ).unsafe_ask()
    if not name:
        name = questionary.text("What is the server called? Empty: as the API is.").unsafe_ask()
    if directory is None:
        default = f"{name}-mcp" if name else ""
        given = questionary.path("In which folder shall it lie?", default=default).unsafe_ask()
        directory = Path(given) if given else None
    answers = dict(answers)
    for key, question in _skeleton_questions().items():
        if key not in answers:
            answers[key] = _ask_skeleton(question)
    return Order(source, directory, name, answers)


def _source_problem(answer: str) -> bool | str:
    if answer.startswith(("http://", "https://")) or Path(answer).is_file():
        return True
    return "there is no such file, and it is no http(s) URL"


def _skeleton_questions() -> dict[str, Any]:
    """Read the skeleton's own questions, in order; the name was asked for already."""
    import yaml

    from mcpgen.ir.templates import template_root

    asked = yaml.safe_load((template_root() / "skeleton" / "copier.yml").read_bytes())
    return {
        key: question
        for key, question in asked.items()
        if not key.startswith("_") and key != "name" and question.get("when", True)
    }


def _ask_skeleton(question: Mapping[str, Any]) -> str:
    import questionary

    default = str(question.get("default", ""))
    if choices := question.get("choices"):
        asked = questionary.select(question["help"], choices=choices, default=default)
    else:
        asked = questionary.text(question["help"], default=default)
    return str(asked.unsafe_ask())


def parse_answer(pair: str) -> tuple[str, str]:
    """Split "KEY=VALUE".

    Raises:
        MisuseError: there is no "=" or no key.
    """
    key, equals, value = pair.partition("=")
    if not (equals and key.strip()):
        raise MisuseError(f"`--data {pair}` is not KEY=VALUE")
    return key.strip(), value
