"""Text of a document that may be meant to steer a model rather than to describe an API.

Such text is reported and never obeyed: names are ASCII, invisible characters are removed, and
hints come from HTTP methods alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import Operation
from mcpgen.plan.descriptions import is_visible, one_line

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "QUERY"})
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instructions?|prompts?|rules)\b"
    r"|\bdo(?:n't| not)\b.{0,20}\b(?:tell|inform|mention|alert|notify)\b.{0,20}\buser\b"
    r"|\bwithout\b.{0,20}\b(?:telling|informing|asking)\b.{0,20}\buser\b"
    r"|\bbefore (?:using|calling|invoking) (?:this|any|other) tools?\b"
    r"|\b(?:always|must|should) (?:first )?(?:call|use|invoke|run) (?:this|the) tool\b"
    r"|\bsystem prompt\b|\bid_rsa\b|~/\.(?:ssh|aws|config)\b",
    re.IGNORECASE | re.DOTALL,
)
_DESTROYS = re.compile(r"\W*(?:delet|remov|destroy|purg|eras|reset)\w*\b", re.IGNORECASE)
_LOOKS = re.compile(r"\b(?:read[- ]only|without side effects)\b", re.IGNORECASE)


def report_suspicions(operation: Operation, problems: Problems) -> None:
    """Report what in the texts of `operation` a reader should look at before serving it."""
    texts = list(_texts(operation))
    hidden = sorted(
        {f"U+{ord(character):04X}" for text in texts for character in text if _hides(character)}
    )
    if hidden:
        problems.warning(
            "hidden-text",
            f"the texts of `{operation.key}` hold invisible characters: {', '.join(hidden[:6])}",
            at=operation.at,
            why="a model reads them and a reviewer does not; they were removed",
        )
    for text in texts:
        found = _INSTRUCTION.search(text)
        if found:
            said = one_line(found.group())[:80]
            problems.warning(
                "instructions-in-text",
                f"a text of `{operation.key}` gives a model instructions: {said!r}",
                at=operation.at,
                why="clients show descriptions to models, which may follow them",
                help="exclude the operation, or correct its description",
            )
            break
    _report_contradiction(operation, problems)
    if _mixes_scripts(operation.operation_id):
        problems.warning(
            "mixed-script",
            f"the operationId of `{operation.key}` mixes scripts, which may look alike: "
            f"{operation.operation_id!a}",
            at=operation.at,
        )


def _texts(operation: Operation) -> Iterator[str]:
    yield operation.summary
    yield operation.description
    for parameter in operation.parameters:
        if parameter.description:
            yield parameter.description
    if operation.request_body is not None:
        yield operation.request_body.description


def _hides(character: str) -> bool:
    if character.isascii() or is_visible(character):
        return False
    # Joiners inside words and byte order marks are how some people's text arrives.
    return unicodedata.category(character) == "Cf" and character not in "\u200c\u200d\ufeff\u00ad"


def _report_contradiction(operation: Operation, problems: Problems) -> None:
    purpose = operation.summary or operation.description
    claims = operation.extensions.get("x-mcp-annotations")
    is_claimed_safe = isinstance(claims, dict) and claims.get("readOnlyHint") is True
    if operation.method in _SAFE:
        contradiction = bool(_DESTROYS.match(purpose))
        told = "is described as destroying something"
    else:
        contradiction = is_claimed_safe or bool(_LOOKS.search(purpose))
        told = "is described as read-only"
    if contradiction:
        problems.warning(
            "annotation-contradiction",
            f"`{operation.key}` {told}, and {operation.method} says otherwise",
            at=operation.at,
            why="hints for clients follow the method",
            help="annotate the operation in the manifest where the method misleads",
        )


def _mixes_scripts(name: str) -> bool:
    letters = [character for character in name if character.isalpha()]
    latin = [character for character in letters if character.isascii()]
    foreign = [
        character
        for character in letters
        if not character.isascii() and "LATIN" not in unicodedata.name(character, "LATIN")
    ]
    return bool(latin and foreign)
