"""Hidden characters and prompt injections in the texts of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.text.invisible import visible
from mcpgen.text.json_pointer import Path, path_tokens
from mcpgen.text.signals import (
    STEERING_KINDS,
    TextSignal,
    find_hidden_characters,
    find_text_signals,
)

_FIELDS = {
    "default": "default",
    "description": "description",
    "enum": "enum",
    "example": "example",
    "name": "name",
    "operationId": "name",
    "pattern": "pattern",
    "summary": "title",
    "title": "title",
}
_CONTAINERS = (dict, list)
_PROSE = frozenset({"description", "summary", "title"})
_INSTRUCTING = frozenset({"encoded-text", "hidden-markup"})
_LOOKALIKES = "lookalike-letters"  # for names, `mixed-script` is reported instead


class TextFinding(Struct, frozen=True):
    """A suspicious string: its place, and the parts of a diagnostic."""

    code: str
    tokens: tuple[str, ...]
    message: str
    why: str
    help: str


def find_suspicious_texts(root: JsonObject) -> Iterator[TextFinding]:
    """Find hidden characters in strings and keys, and in prose all that hides text or steers."""
    search = cache(find_text_signals)  # documents repeat their texts
    # All texts first: walking and searching in turn evicts each other's data from the CPU's caches.
    for text, field, is_prose, path in [*_select_texts(root)]:
        if signals := search(text, field) if is_prose else find_hidden_characters(text, field):
            yield from _report(signals, text, path)


def _select_texts(root: JsonObject) -> Iterator[tuple[str, str, bool, Path]]:
    """Yield the texts to search, with the field of a tool, whether it is prose, and their path."""
    pending: list[tuple[JsonValue, Path]] = [(root, None)]
    seen: set[int] = set()
    keys: set[str | int] = set()  # most are those of other objects, too
    while pending:
        node, path = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, str):
                # Nothing can be hidden in text that is ASCII and printable.
                if key in _PROSE:
                    yield value, _FIELDS[key], True, (path, key)
                elif not (value.isascii() and value.isprintable()):
                    yield value, _name_field((path, key)), False, (path, key)
            elif isinstance(value, _CONTAINERS):
                pending.append((value, (path, key)))
            if key in keys:
                continue
            if isinstance(key, str) and not (key.isascii() and key.isprintable()):
                yield key, "property", False, (path, key)
            else:
                keys.add(key)


def _name_field(path: Path) -> str:
    """Return which field of a tool a value is from; an item is from the field of its list."""
    while path is not None:
        path, key = path
        if isinstance(key, str):
            return _FIELDS.get(key, "description")
    return "description"


def _report(signals: Iterable[TextSignal], text: str, path: Path) -> Iterator[TextFinding]:
    """Yield at most two findings for a text: steering of a model, and hidden text."""
    steering: list[TextSignal] = []
    hidden: list[TextSignal] = []
    for signal in signals:
        if signal.kind in STEERING_KINDS or signal.kind in _INSTRUCTING:
            steering.append(signal)
        elif signal.kind != _LOOKALIKES:
            hidden.append(signal)
    if steering:
        first = steering[0]
        excerpt = " ".join(text[first.start : first.end].split())[:60]
        yield TextFinding(
            "instruction-in-text",
            path_tokens(path),
            f"possible instruction to the model, `{excerpt}`: {_join_reasons(steering)}",
            "the model that calls a tool reads its description",
            "describe the operation, not what the model must do",
        )
    if hidden:
        left = "".join(visible(text[each.start : each.end])[0] for each in hidden)
        yield TextFinding(
            "hidden-characters",
            path_tokens(path),
            _join_reasons(hidden),
            "a model reads characters that a reviewer cannot see",
            "remove them" if left else "remove them; mcpgen removes them from tools",
        )


def _join_reasons(signals: Iterable[TextSignal]) -> str:
    return "; ".join(dict.fromkeys(signal.reason for signal in signals))
