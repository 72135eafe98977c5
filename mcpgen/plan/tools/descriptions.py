"""Titles and descriptions of tools: plain, visible and short text from the document."""

from __future__ import annotations

from mcpgen.ir.api import Operation
from mcpgen.ir.manifest import OperationEntry
from mcpgen.plan.naming.transliteration import is_latin
from mcpgen.text.prose import SENTENCE_END, plain_line, plain_text, shorten_at_sentence

MAX_TOOL_DESCRIPTION = 1024
_LEAST = 40  # shorter than this, a model learns too little
_MAX_TITLE = 80


def write_tool_title(operation: Operation, name: str) -> str:
    """Return a short title for users: the summary, else the words of the tool's name.

    If the document's name has other than Latin letters, it is used instead of the tool's.
    """
    summary = plain_line(operation.summary).rstrip(".")
    if not summary and not is_latin(operation.operation_id):
        summary = plain_line(operation.operation_id)
    return shorten_at_sentence(summary or name.replace("_", " ").capitalize(), _MAX_TITLE)


def prefix_wire_name(text: str, wire_name: str) -> str:
    """Return the description of an argument with its name in the API before it."""
    return f"`{plain_line(wire_name)}`: {text}".removesuffix(": ")


def write_tool_description(
    operation: Operation, notes: tuple[str, ...], entry: OperationEntry | None = None
) -> str:
    """Return the summary, the details and the `notes`; at most 1024 characters.

    The manifest's `entry` replaces the document's text, or adds to it.
    """
    summary = plain_line(operation.summary)
    details = plain_text(operation.description)
    if entry is not None and entry.description:
        summary, details = "", plain_text(entry.description)
    if entry is not None and entry.append:
        notes = (*notes, plain_line(entry.append))
    if not summary:
        summary, details = _split_purpose(details)
    if not summary:
        summary = f"Calls `{operation.key}`"
    purpose = summary if summary[-1] in ".!?" else summary + "."
    if _says_the_same(purpose, details):
        details = ""
    marks = ["[deprecated]"] if operation.deprecated else []
    ending = [*_describe_effects(operation), *notes]
    room = MAX_TOOL_DESCRIPTION - sum(len(part) + 1 for part in (*marks, *ending))
    told = shorten_at_sentence(f"{purpose}\n{details}" if details else purpose, max(room, 80))
    if len(told) < _LEAST and operation.key not in told:
        told = f"{told.rstrip('.')} (`{operation.key}`)."
    return shorten_at_sentence(" ".join((*marks, told, *ending)), MAX_TOOL_DESCRIPTION)


def _split_purpose(details: str) -> tuple[str, str]:
    line, _, rest = details.partition("\n")
    end = SENTENCE_END.search(line)
    if end is None:
        return line, rest
    return line[: end.end()], (line[end.end() :].strip() + "\n" + rest).strip()


def _says_the_same(purpose: str, details: str) -> bool:
    return details.rstrip(".").lower() == purpose.rstrip(".").lower()


def _describe_effects(operation: Operation) -> list[str]:
    if operation.method == "DELETE":
        return ["Destructive: what it removes may not come back."]
    return []
