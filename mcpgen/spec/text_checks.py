"""Text that says one thing to a reader and another to a model or a machine."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

from mcpgen.ir.json_pointer import Path, path_tokens
from mcpgen.ir.json_types import JsonObject

# Tags, bidirectional controls, zero-width characters; joiners are kept inside words, where several
# scripts need them. A mark at the very front is a byte order mark that somebody pasted.
_HIDDEN: re.Pattern[str] = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]|(?<!\\w)[\u200c\u200d]|[\u200c\u200d](?!\\w)"
)
_EMOJI_JOINER = re.compile("[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]\u200d")

_INSTRUCTION = re.compile(
    # AWS's own markup, `<important> <p>…`, is no instruction.
    r"<(important|system|instructions?|system[-_ ]?prompt)>(?!\s*<)[^<]*</\1>"
    r"|\b(?:ignore|disregard|forget|override)\s+(?:(?:all|any|the|your|of|these|those)\s+)*"
    r"(?:previous|prior|above|earlier|preceding|other)\s+(?:\w+\s+)?"
    r"(?:instructions?|prompts?|rules|guidelines|messages|context)\b"
    r"|\b(?:do\s+not|don't|never)\s+(?:tell|inform|notify|alert|mention\s+(?:\w+\s+)?to)\s+"
    r"the\s+user\b"
    r"|\bbefore\s+(?:using|calling|invoking)\s+(?:this|any|the|other)\s+tools?\b"
    r"|\bwithout\s+(?:telling|informing|notifying)\s+the\s+user\b"
    r"|~/\.ssh/|\bid_rsa\b|~/\.aws/",
    re.IGNORECASE,
)
# One of these is in whatever the pattern finds; most prose has none, and the pattern is slow.
_INSTRUCTION_WORDS = (
    *("<", "ignore", "disregard", "forget", "override", "the user"),
    *("this tool", "any tool", "the tool", "other tool", ".ssh", "id_rsa", ".aws"),
)
_PROSE = frozenset({"description", "summary", "title"})


class TextFinding(Struct, frozen=True):
    """A suspicious string: where, what about it, and a harmless excerpt."""

    code: str
    tokens: tuple[str, ...]
    message: str
    why: str
    help: str


def suspicious_texts(root: JsonObject) -> Iterator[TextFinding]:
    """Find hidden characters in any string or key, and instructions to a model in any prose."""
    pending: list[tuple[object, Path]] = [(root, None)]
    seen: set[int] = set()
    while pending:
        node, path = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not isinstance(node, dict | list):
            continue
        entries = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in entries:
            if isinstance(value, str):
                if not value.isascii():
                    yield from _hidden(value, (path, key))
                if key in _PROSE and (excerpt := _instruction(value)):
                    yield _instruction_found(excerpt, (path, key))
            elif isinstance(value, (dict, list)):
                pending.append((value, (path, key)))
            if isinstance(key, str) and not key.isascii():
                yield from _hidden(key, (path, key))


def _hidden(text: str, path: Path) -> Iterator[TextFinding]:
    found = _HIDDEN.findall(_EMOJI_JOINER.sub("", text))
    if found:
        names = sorted({f"U+{ord(character):04X}" for character in found})
        yield TextFinding(
            "hidden-characters",
            path_tokens(path),
            f"{len(found)} invisible or direction-changing characters: "
            f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}",
            "a model reads what a reviewer cannot see",
            "delete them; tools are made without them",
        )


def _instruction(text: str) -> str:
    """The words that read like an instruction to a model, or ""."""
    plain = " ".join(text.lower().split())
    if not any(word in plain for word in _INSTRUCTION_WORDS):
        return ""
    found = _INSTRUCTION.search(plain)
    return found[0] if found else ""


def _instruction_found(excerpt: str, path: Path) -> TextFinding:
    return TextFinding(
        "instruction-in-text",
        path_tokens(path),
        f"this reads like an instruction to the model: `{excerpt[:60]}`",
        "descriptions of tools are read by the model that calls them",
        "say what the operation does, not what the model shall do",
    )


_LOOKALIKE_SCRIPTS = frozenset({"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee"})


def lookalike_scripts(identifier: str) -> frozenset[str]:
    """The scripts of a name's letters, of those that have letters which look like Latin ones."""
    if identifier.isascii():
        return frozenset()
    names = (unicodedata.name(character, "") for character in identifier if character.isalpha())
    return frozenset(name.partition(" ")[0].title() for name in names) & _LOOKALIKE_SCRIPTS
