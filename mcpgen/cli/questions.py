"""The questions that commands ask at a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.output.visible import visible
from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.jsonschema.types import JsonObject

_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
_SET_BY_OTHERS = frozenset({"accept", "connection", "content-length", "content-type", "host"})


def ask(
    source: str | None, directory: Path | None, name: str, answers: Mapping[str, str]
) -> tuple[str, Path | None, str, dict[str, str]]:
    """Return these four values, after asking for what was not given on the command line.

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
    return source, directory, name, answers


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


_NONE, _BEARER, _BASIC, _HEADER = (
    "none",
    "a token (Authorization: Bearer)",
    "a user name and a password (HTTP Basic)",
    "a key in another header",
)


def decide_credential(credential: HiddenCredential) -> HiddenCredential:
    """Ask what becomes of a credential that the document hides; its entry is active or a comment.

    Raises:
        KeyboardInterrupt: the user cancels.
    """
    import questionary

    said = visible(credential.sentence)
    if credential.code == "no-credentials" and credential.schemes:
        scheme = _ask_scheme(said)
        if scheme is None:
            return replace(credential, is_certain=True, schemes={}, security=())
        name, entry = scheme
        security: tuple[Mapping[str, tuple[str, ...]], ...] = ({name: ()}, {})
        return replace(credential, is_certain=True, schemes={name: entry}, security=security)
    asked = questionary.confirm(
        f"{said} Read it from the environment?", default=credential.is_certain
    )
    return replace(credential, is_certain=bool(asked.unsafe_ask()))


def confirm_origin(destination: CredentialDestination) -> bool:
    """Ask whether an origin that the document names may receive the credentials of its API.

    Raises:
        KeyboardInterrupt: the user cancels.
    """
    import questionary

    subject, origin = visible(destination.subject_phrase), visible(destination.origin)
    asked = questionary.confirm(
        f"{subject} would send credentials to {origin}. Does it belong to the API?",
        default=False,
    )
    return bool(asked.unsafe_ask())


def confirm_write() -> bool:
    """Ask whether to write the changes that were shown."""
    import questionary

    return bool(questionary.confirm("Write it?", default=True).unsafe_ask())


def _ask_scheme(said: str) -> tuple[str, JsonObject] | None:
    """Ask which credential an API needs; None for none."""
    import questionary

    choices = [_NONE, _BEARER, _BASIC, _HEADER]
    chosen = questionary.select(
        f"{said} Which credential do requests need?", choices=choices, default=_NONE
    ).unsafe_ask()
    if chosen == _BEARER:
        return "token", {"type": "http", "scheme": "bearer"}
    if chosen == _BASIC:
        return "basic", {"type": "http", "scheme": "basic"}
    if chosen == _HEADER:
        name = questionary.text(
            "What is the header called?", default="X-API-Key", validate=_header_problem
        ).unsafe_ask()
        return "api_key", {"type": "apiKey", "in": "header", "name": name}
    return None


def _header_problem(answer: str) -> bool | str:
    is_valid = bool(_HEADER_NAME.match(answer)) and answer.lower() not in _SET_BY_OTHERS
    return is_valid or "it is not the name of a header that can carry a key"


def parse_answer(pair: str) -> tuple[str, str]:
    """Split "KEY=VALUE".

    Raises:
        UsageError: there is no "=" or no key.
    """
    key, equals, value = pair.partition("=")
    if not (equals and key.strip()):
        raise UsageError(f"`--data {pair}` is not KEY=VALUE")
    return key.strip(), value
