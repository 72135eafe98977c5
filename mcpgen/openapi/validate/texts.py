"""Detection of hidden characters and prompt injections in the texts of a document."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.json_pointer import Path, path_tokens

# Tags, bidirectional controls and zero-width characters. Joiners inside words are allowed, since
# several scripts need them.
_HIDDEN: re.Pattern[str] = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]|(?<!\\w)[\u200c\u200d]|[\u200c\u200d](?!\\w)"
)
_EMOJI_JOINER = re.compile("[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]\u200d")

_INSTRUCTION = re.compile(
    # Markup of AWS, `<important> <p>…`, is not an instruction.
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
# Every match contains one of these words. The check avoids the slow pattern for most texts.
_INSTRUCTION_WORDS = (
    *("<", "ignore", "disregard", "forget", "override", "the user"),
    *("this tool", "any tool", "the tool", "other tool", ".ssh", "id_rsa", ".aws"),
)
_PROSE = frozenset({"description", "summary", "title"})


class TextFinding(Struct, frozen=True):
    """A suspicious string: its place, and the parts of a diagnostic."""

    code: str
    tokens: tuple[str, ...]
    message: str
    why: str
    help: str


def find_suspicious_texts(root: JsonObject) -> Iterator[TextFinding]:
    """Find hidden characters in strings and keys, and instructions to a model in descriptions."""
    pending: list[tuple[object, Path]] = [(root, None)]
    seen: set[int] = set()
    while pending:
        node, path = pending.pop()
        if id(node) in seen or not isinstance(node, dict | list):
            continue
        seen.add(id(node))
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, str):
                if not value.isascii():
                    yield from _check_hidden(value, (path, key))
                if key in _PROSE and (excerpt := _find_instruction(value)):
                    yield TextFinding(
                        "instruction-in-text",
                        path_tokens((path, key)),
                        f"possible instruction to the model: `{excerpt[:60]}`",
                        "the model that calls a tool reads its description",
                        "describe the operation, not what the model must do",
                    )
            elif isinstance(value, (dict, list)):
                pending.append((value, (path, key)))
            if isinstance(key, str) and not key.isascii():
                yield from _check_hidden(key, (path, key))


def _check_hidden(text: str, path: Path) -> Iterator[TextFinding]:
    found = _HIDDEN.findall(_EMOJI_JOINER.sub("", text))
    if found:
        names = sorted({f"U+{ord(character):04X}" for character in found})
        yield TextFinding(
            "hidden-characters",
            path_tokens(path),
            f"{len(found)} invisible or direction-changing characters: "
            f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}",
            "a model reads characters that a reviewer cannot see",
            "remove them; mcpgen removes them from tools",
        )


def _find_instruction(text: str) -> str:
    """Return the words that look like an instruction to a model, or ""."""
    plain = " ".join(text.lower().split())
    if not any(word in plain for word in _INSTRUCTION_WORDS):
        return ""
    found = _INSTRUCTION.search(plain)
    return found[0] if found else ""


_LOOKALIKE_SCRIPTS = frozenset({"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee"})


def lookalike_scripts(identifier: str) -> frozenset[str]:
    """Return the scripts of a name's letters, limited to scripts with Latin lookalikes."""
    if identifier.isascii():
        return frozenset()
    names = (unicodedata.name(character, "") for character in identifier if character.isalpha())
    return frozenset(name.partition(" ")[0].title() for name in names) & _LOOKALIKE_SCRIPTS
