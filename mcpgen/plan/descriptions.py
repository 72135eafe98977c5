"""Text of a stranger's document as a model should read it: plain, visible, short."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

from mcpgen.ir.api import Operation
from mcpgen.ir.manifest import OperationEntry
from mcpgen.plan.transliteration import is_latin

MAX_TOOL_DESCRIPTION = 1024
_LEAST = 40  # shorter than this, a model learns too little
_MAX_TITLE = 80
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,400}>|<!--.{0,2000}?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]\n]{0,200})\]\([^)\n]{0,600}\)")
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\([^)\n]{0,600}\)")
_TABLE_LINE = re.compile(r"^[ \t]*\|.*$|^[ \t]*:?-{3,}:?([ \t]*\|[ \t:-]*)+$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*$", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.{1,300}?)(?<=\S)\1")
_SPACES = re.compile(r"[ \t\u00a0]+")
_SENTENCE_END = re.compile(r"[.!?。](?=\s|$)")


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """`text` without HTML, tables, link targets, control and invisible characters.

    Paragraphs become lines. A code span keeps its backticks.
    """
    if not text:
        return ""
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    text = _CONTROL.sub("", text)
    if not text.isascii():
        text = "".join(character for character in text if _is_visible(character))
    if "[" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    if "|" in text:
        text = _TABLE_LINE.sub("", text)
    text = _FENCE.sub("", text)
    if "#" in text:
        text = _HEADING.sub(r"\1:", text)
    if "**" in text or "__" in text:
        text = _EMPHASIS.sub(r"\2", text)
    lines = (_SPACES.sub(" ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _is_visible(character: str) -> bool:
    """Whether a reader can see `character`, or it parts words or lines."""
    if character.isascii():
        return not _CONTROL.match(character)
    if character in "\u2028\u2029\x85":
        return False
    return unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cs", "Cn")


def one_line(text: str) -> str:
    """`clean` text in a single line."""
    return " ".join(clean(text).split())


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, cut after a sentence, else after a word."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    if ends and ends[-1] > limit // 3:
        return head[: ends[-1]]
    is_between_words = any(character.isspace() for character in text[limit - 2 : limit])
    whole_words = head if is_between_words else head.rsplit(None, 1)[0]
    return whole_words.rstrip(" ,;:(\n") + "…"


@lru_cache(maxsize=4096)
def first_sentence(text: str, limit: int) -> str:
    """The first sentence of `text`, in one line of at most `limit` characters."""
    line = one_line(text)
    end = _SENTENCE_END.search(line)
    return shorten(line[: end.end()] if end else line, limit)


def sentences(text: str) -> list[str]:
    """The sentences of one line of text, each with its full stop."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    starts = [0, *ends]
    found = (text[start:end].strip() for start, end in zip(starts, [*ends, None], strict=True))
    return [sentence for sentence in found if sentence]


def tool_title(operation: Operation, name: str) -> str:
    """A few words for people: the summary, else the tool's name spelled out.

    That is the document's own where it is in other letters than the tool's.
    """
    summary = one_line(operation.summary).rstrip(".")
    if not summary and not is_latin(operation.operation_id):
        summary = one_line(operation.operation_id)
    return shorten(summary or name.replace("_", " ").capitalize(), _MAX_TITLE)


def with_wire_name(text: str, wire_name: str) -> str:
    """What is said of an argument, after the name that it has in the API."""
    return f"`{one_line(wire_name)}`: {text}".removesuffix(": ")


def tool_description(
    operation: Operation, notes: tuple[str, ...], entry: OperationEntry | None = None
) -> str:
    """What the tool is for, then the details, then `notes`; at most 1024 characters.

    What the manifest's `entry` says comes in place of the document's words, or after them.
    """
    summary = one_line(operation.summary)
    details = clean(operation.description)
    if entry is not None and entry.description:
        summary, details = "", clean(entry.description)
    if entry is not None and entry.append:
        notes = (*notes, one_line(entry.append))
    if not summary:
        summary, details = _split_purpose(details)
    if not summary:
        summary = f"Calls `{operation.key}`"
    purpose = summary if summary[-1] in ".!?" else summary + "."
    if _says_the_same(purpose, details):
        details = ""
    marks = ["[deprecated]"] if operation.deprecated else []
    ending = [*_effects(operation), *notes]
    room = MAX_TOOL_DESCRIPTION - sum(len(part) + 1 for part in (*marks, *ending))
    told = shorten(f"{purpose}\n{details}" if details else purpose, max(room, 80))
    if len(told) < _LEAST and operation.key not in told:
        told = f"{told.rstrip('.')} (`{operation.key}`)."
    return shorten(" ".join((*marks, told, *ending)), MAX_TOOL_DESCRIPTION)


def _split_purpose(details: str) -> tuple[str, str]:
    line, _, rest = details.partition("\n")
    end = _SENTENCE_END.search(line)
    if end is None:
        return line, rest
    return line[: end.end()], (line[end.end() :].strip() + "\n" + rest).strip()


def _says_the_same(purpose: str, details: str) -> bool:
    return details.rstrip(".").lower() == purpose.rstrip(".").lower()


def _effects(operation: Operation) -> list[str]:
    if operation.method == "DELETE":
        return ["Destructive: what it removes may not come back."]
    return []
