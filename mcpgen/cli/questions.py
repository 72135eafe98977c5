"""The questions that commands ask at a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from mcpgen.cli import prompts
from mcpgen.cli.exit_codes import UsageError
from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.jsonschema.types import JsonObject

_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
_SET_BY_OTHERS = frozenset({"accept", "connection", "content-length", "content-type", "host"})


def read_template_questions() -> dict[str, Any]:
    """Read the questions of the project's template, in order, without that for the name."""
    import yaml

    from mcpgen.ir.templates import template_root

    questions = yaml.safe_load((template_root() / "skeleton" / "copier.yml").read_bytes())
    return {
        key: question
        for key, question in questions.items()
        if not key.startswith("_") and key != "name" and question.get("when", True)
    }


_ABOUT_HIDDEN = (
    "A credential that a server reads from its environment is never an argument of a tool, so the"
    " model does not see it. The answer becomes an entry of mcpgen.yaml: `security_schemes` and"
    " `security` of the source, or `parameters` of operations."
)
_ABOUT_ORIGIN = (
    "An origin that gets the credential can use it. Calls that would send it there are refused"
    " until the origin is confirmed. Option: --confirm-origin; in mcpgen.yaml:"
    " `credential_origins` of the source."
)
_NONE, _BEARER, _BASIC, _HEADER = (
    "none",
    "a token (Authorization: Bearer)",
    "a user name and a password (HTTP Basic)",
    "a key in another header",
)


def decide_credential(credential: HiddenCredential) -> HiddenCredential:
    """Ask how to handle a credential that the document hides; its entry is active or a comment.

    Raises:
        KeyboardInterrupt: the user cancels.
    """
    sentence = credential.sentence
    if credential.code == "no-credentials" and credential.schemes:
        scheme = _ask_scheme(sentence)
        if scheme is None:
            return replace(credential, is_certain=True, schemes={}, security=())
        name, entry = scheme
        security: tuple[Mapping[str, tuple[str, ...]], ...] = ({name: ()}, {})
        return replace(credential, is_certain=True, schemes={name: entry}, security=security)
    is_certain = prompts.ask_yes(
        f"{sentence} Read it from the environment?", _ABOUT_HIDDEN, default=credential.is_certain
    )
    return replace(credential, is_certain=is_certain)


def confirm_origin(destination: CredentialDestination) -> bool:
    """Ask whether an origin that the document names may receive the credentials of its API.

    Raises:
        KeyboardInterrupt: the user cancels.
    """
    return prompts.ask_yes(
        f"{destination.subject_phrase} would send credentials to {destination.origin}."
        " Does it belong to the API?",
        _ABOUT_ORIGIN,
        default=False,
    )


def confirm_write() -> bool:
    """Ask whether to write the changes that were shown."""
    import questionary

    return bool(questionary.confirm("Write it?", default=True).unsafe_ask())


def _ask_scheme(sentence: str) -> tuple[str, JsonObject] | None:
    """Ask which credential an API needs; None for none."""
    chosen = prompts.ask_choice(
        f"{sentence} Which credential do requests need?",
        [(each, each) for each in (_NONE, _BEARER, _BASIC, _HEADER)],
        _NONE,
        _ABOUT_HIDDEN,
    )
    if chosen == _BEARER:
        return "token", {"type": "http", "scheme": "bearer"}
    if chosen == _BASIC:
        return "basic", {"type": "http", "scheme": "basic"}
    if chosen == _HEADER:
        name = prompts.ask_text(
            "Name of the header:", "X-API-Key", _ABOUT_HIDDEN, find_fault=_find_header_fault
        )
        return "api_key", {"type": "apiKey", "in": "header", "name": name}
    return None


def _find_header_fault(answer: str) -> str:
    is_valid = bool(_HEADER_NAME.match(answer)) and answer.lower() not in _SET_BY_OTHERS
    return "" if is_valid else "it is not the name of a header that can carry a key"


def parse_answer(pair: str) -> tuple[str, str]:
    """Split "KEY=VALUE".

    Raises:
        UsageError: there is no "=" or no key.
    """
    key, equals, value = pair.partition("=")
    if not (equals and key.strip()):
        raise UsageError(f"`--data {pair}` is not KEY=VALUE")
    return key.strip(), value
