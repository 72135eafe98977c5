"""Rules for descriptions, instructions and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcpgen.factory.lint.findings import Finding, flag
from mcpgen.factory.lint.listing import Listing, iterate_texts
from mcpgen.ir.client_checks import find_missing_hints, read_text
from mcpgen.ir.portable_profile import MAX_DESCRIPTION, MAX_INSTRUCTIONS, MIN_DESCRIPTION
from mcpgen.jsonschema.types import JsonObject

_WORD: Final = re.compile(r"[a-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPTY_WORDS: Final = frozenset("a all an by for from in of the this to tool".split())
# A word that introduces an occasion, a condition or an alternative.
_USAGE: Final = re.compile(
    r"\b(when|whenever|if|before|after|instead|unless|while|only|first|once|until|useful|prefer"
    r"|use|used|helps?|need|needs|rather|otherwise|see|such as|e\.g)\b",
    re.IGNORECASE,
)
_ELEMENTS: Final = (
    "a|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|script|span|strong|style|sub|sup|table"
    "|tbody|td|th|thead|tr|u|ul"
)
# `<Code>` is XML, which a text may be about.
_TAG: Final = re.compile(rf"</?(?:{_ELEMENTS}|{_ELEMENTS.upper()})(?:\s[^<>]{{0,300}})?/?>")
_CELL: Final = r"[ \t]*:?-{3,}:?[ \t]*"
_TABLE: Final = re.compile(rf"^[ \t]*\|?{_CELL}(?:\|{_CELL})+\|?[ \t]*$", re.MULTILINE)
_CODE: Final = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_DELETES: Final = frozenset(["delete", "destroy", "erase", "purge", "wipe"])
_LOSS: Final = re.compile(
    r"delet|remov|destr|eras|purg|wip(e|ing)|permanent|irrevers|undo|undone|lost|discard|clear"
    r"|cancel|forget|revok|trash|drop",
    re.IGNORECASE,
)


def check_description_lengths(listing: Listing) -> Iterator[Finding]:
    """Check the lengths of descriptions and instructions against the portable profile."""
    for tool in listing.all_tools:
        name, size = read_text(tool, "name"), len(read_text(tool, "description"))
        if size > MAX_DESCRIPTION:
            yield flag(
                "description-length",
                f"the description of `{name}` has {size:,} characters (limit: {MAX_DESCRIPTION:,})",
                tool=name,
                tokens=("description",),
            )
    if len(listing.instructions) > MAX_INSTRUCTIONS:
        yield flag(
            "instructions-length",
            f"the instructions have {len(listing.instructions):,} characters"
            f" (limit: {MAX_INSTRUCTIONS:,})",
        )


def check_descriptions(listing: Listing) -> Iterator[Finding]:
    """Report descriptions from which a model learns too little."""
    for tool in listing.all_tools:
        name, text = read_text(tool, "name"), read_text(tool, "description").strip()
        at = ("description",)
        if not text:
            message = f"`{name}` has no description"
            yield flag("description-missing", message, tool=name, tokens=at, detail="none")
        elif is_tautology(tool):
            message = f"the description of `{name}` only repeats its name"
            yield flag("description-repeats-name", message, tool=name, tokens=at, detail="repeats")
        elif len(text) < MIN_DESCRIPTION:
            message = f"the description of `{name}` has {len(text)} characters (at least 40 help)"
            yield flag("description-short", message, tool=name, tokens=at, detail="short")
    yield from _check_usage(listing)


def _check_usage(listing: Listing) -> Iterator[Finding]:
    """Report the tools that have no word about when to use them, in one finding."""
    silent = [
        read_text(tool, "name")
        for tool in listing.all_tools
        if (text := read_text(tool, "description").strip()) and not _USAGE.search(text)
    ]
    if silent:
        shown = ", ".join(f"`{name}`" for name in silent[:3])
        more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
        yield flag("description-usage", f"no word on when to use {shown}{more}")


def is_tautology(tool: JsonObject) -> bool:
    """Return whether a description has no other words than the name."""
    words = _split(read_text(tool, "description"))
    return bool(words) and words <= _split(read_text(tool, "name"))


def _split(text: str) -> frozenset[str]:
    words = _WORD.findall(_CAMEL.sub(" ", text).replace("_", " ").lower())
    return frozenset(word.removesuffix("s") for word in words if word not in _EMPTY_WORDS)


def check_markup(listing: Listing) -> Iterator[Finding]:
    """Report HTML elements and Markdown tables outside of code."""
    for text in iterate_texts(listing):
        if text.field not in ("description", "instructions", "title"):
            continue
        prose = _CODE.sub("", text.text)
        tag = _TAG.search(prose)
        if tag or _TABLE.search(prose):
            what = f"HTML ({tag[0][:40]})" if tag else "a Markdown table"
            yield flag(
                "description-markup",
                f"{text.what} contains {what}",
                tool=text.owner,
                tokens=text.tokens,
                detail="HTML" if tag else "a Markdown table",
            )


def check_annotations(listing: Listing) -> Iterator[Finding]:
    """Report missing annotations, and those that contradict the name."""
    for tool in listing.all_tools:
        name = read_text(tool, "name")
        verb = next(iter(_WORD.findall(_CAMEL.sub(" ", name).replace("_", " ").lower())), "")
        stated = tool.get("annotations")
        hints = stated if isinstance(stated, dict) else {}
        deletes = verb in _DELETES
        if deletes and (hints.get("readOnlyHint") is True or hints.get("destructiveHint") is False):
            wrong = "readOnlyHint" if hints.get("readOnlyHint") is True else "destructiveHint"
            yield flag(
                "annotation-contradiction",
                f"`{name}` has `{wrong}: {str(hints[wrong]).lower()}`",
                tool=name,
                tokens=("annotations", wrong),
                detail="contradicts the name",
            )
        elif deletes and not _LOSS.search(read_text(tool, "description")):
            yield flag(
                "destructive-unstated",
                f"the description of `{name}` does not say that it deletes something",
                tool=name,
                tokens=("description",),
                detail="not said",
            )
        if missing := find_missing_hints(tool):
            listed = ", ".join(f"`{hint}`" for hint in missing)
            yield flag(
                "annotations",
                f"`{name}` does not state {listed}",
                tool=name,
                tokens=("annotations",),
                detail=listed,
            )
