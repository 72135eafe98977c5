"""Phrases that rules combine, from `cues.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_REPLY: Final = r"(?:reply|replies|response|responses|answer|answers)"
_MACROS: Final[Mapping[str, str]] = {
    "<word>": r"(?:[\w'-]{1,24},? )",  # with the space after it
    "<user>": r"(?:the |this |your |any )?(?:human |end )?(?:user|human|operator)s?",
    "<not>": r"(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|may not|avoid"
    r"|refrain from)",
    "<reply>": _REPLY,
    "<tools>": r"(?:tools?|functions?|servers?|alternatives?|integrations?|plugins?)",
    "<steered>": r"(?:instructions?|prompts?|directives?|guidelines?|guardrails?|safeguards?"
    r"|programming)",
    "<key_file>": r"(?:id_(?:rsa|dsa|ecdsa|ed25519)(?!\.pub)\b|ssh (?:private )?keys?\b"
    r"|private ssh keys?\b)",
}
_MACRO: Final = re.compile("|".join(_MACROS))


@dataclass(frozen=True, slots=True)
class Cue:
    """A phrase that may be part of a signal."""

    pattern: re.Pattern[str]
    words: frozenset[str]  # each match contains one; empty: each match is not ASCII


def parse_cue(table: Mapping[str, Any]) -> Cue:
    """Parse a table of `cues.toml` or `weak_cues.toml`."""
    alternatives = "|".join(table["patterns"])
    expanded = _MACRO.sub(lambda macro: _MACROS[macro[0]], alternatives)
    return Cue(re.compile(expanded), frozenset(table["words"].split()))


def read_table(name: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


CUES: Final[Mapping[str, Cue]] = {
    name: parse_cue(table) for name, table in read_table("cues.toml").items()
}
