"""Lines of skills: text of documents made plain, lists of names, and files of a bounded size."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias, TypeVar

from mcpgen.contract.frontmatter import MAX_DESCRIPTION
from mcpgen.ir.skill_plan import MAX_FILE_TOKENS, SkillBlock, SkillPlan, SkillSection
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.text.invisible import escape_markdown_line, visible
from mcpgen.text.prose import end_sentence, plain_line, shorten_at_sentence, split_sentences
from mcpgen.text.signals.steering import find_steering_phrases

T = TypeVar("T")

_BYTES_OF_A_TOKEN = 4
_MAX_SHOWN_NAMES = 12
_MAX_JSON = 900  # characters of an example

SkillDraft: TypeAlias = Callable[[Mapping[str, JsonObject]], SkillPlan]
"""Adds example calls to a skill: their arguments, by tool and workflow."""


@lru_cache(maxsize=16_384)
def quote_text(text: str, limit: int, *, is_own: bool = False) -> str:
    """Return text as one line without markup, at most `limit` characters long.

    Sentences of a document that steer a model are omitted: a skill would give them more weight.
    Text of the manifest (`is_own`) is unchanged. A backtick without a partner becomes an
    apostrophe, so that it cannot turn code into text.
    """
    line = plain_line(text)
    if not is_own:
        line = _drop_steering(line)
    line = shorten_at_sentence(line, limit)
    return line.replace("`", "'") if line.count("`") % 2 else line


def _drop_steering(line: str) -> str:
    if not find_steering_phrases(line, "description"):
        return line
    kept = " ".join(
        it for it in split_sentences(line) if not find_steering_phrases(it, "description")
    )
    return "" if find_steering_phrases(kept, "description") else kept


def quote_sentence(text: str, limit: int, *, is_own: bool = False) -> str:
    """Return text as `quote_text` does, with a full stop."""
    return end_sentence(quote_text(text, limit, is_own=is_own))


def join_description(*sentences: str) -> str:
    """Return the sentences as the description of a skill, which is plain text without code."""
    joined = plain_line(" ".join(filter(None, sentences))).replace("`", "'")
    printable = "".join(ch if ch.isprintable() else " " for ch in joined)
    return shorten_at_sentence(printable, MAX_DESCRIPTION)


@lru_cache(maxsize=4096)
def code(name: str) -> str:
    """Return a name as code."""
    return f"`{plain_line(name).replace('`', '')}`"


def join_names(names: Iterable[str], most: int = _MAX_SHOWN_NAMES) -> str:
    """Return names as code, separated by commas; those beyond the `most` are counted."""
    names = list(names)
    shown = ", ".join(code(name) for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def write_json(value: JsonValue) -> tuple[str, ...] | None:
    """Return the lines of JSON text; None if it is too long to be an example, or steers a model.

    Characters that are invisible, or change the direction of text, are escaped.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    if len(text) > _MAX_JSON:
        return None
    if not text.replace("\n", "").isprintable():
        text = json.dumps(value, indent=2, sort_keys=True)
    if visible(text)[1] or find_steering_phrases(text, "example"):
        return None
    return tuple(text.split("\n"))


def make_section(heading: str, *blocks: SkillBlock | None) -> SkillSection | None:
    """Return a section of the blocks that have lines; None if there are none."""
    filled = tuple(block for block in blocks if block is not None and block.lines)
    return SkillSection(heading, filled) if filled else None


def paragraph(*lines: str) -> SkillBlock:
    """Return a block of paragraphs."""
    return SkillBlock("paragraph", tuple(filter(None, lines)))


def bullets(lines: Iterable[str]) -> SkillBlock:
    """Return a list."""
    return SkillBlock("list", tuple(lines))


def estimate_text_tokens(lines: Iterable[str]) -> int:
    """Return a quarter of the bytes that lines take when they are escaped."""
    size = sum(len(escape_markdown_line(line).encode()) + 4 for line in lines)
    return math.ceil(size / _BYTES_OF_A_TOKEN)


def take_lines(
    items: Sequence[T], tokens: int, rest: str, *, write: Callable[[T], str] = str
) -> tuple[str, ...]:
    """Return the lines of as many items as a budget allows; no others are written.

    `rest` is a last line with the number of other items.
    """
    taken: list[str] = []
    room = tokens - estimate_text_tokens([rest])
    for item in items:
        line = write(item)
        room -= estimate_text_tokens([line])
        if room < 0:
            return (*taken, rest.format(len(items) - len(taken)))
        taken.append(line)
    return tuple(taken)


def fit_sections(
    introduction: Sequence[str], sections: Iterable[SkillSection | None]
) -> tuple[SkillSection, ...]:
    """Return the sections that fit into a file, the first ones first; JSON and text alike."""
    room = MAX_FILE_TOKENS - 400 - estimate_text_tokens(introduction)  # front matter and headings
    kept = []
    for section in sections:
        if section is None:
            continue
        blocks = []
        for block in section.blocks:
            room -= estimate_text_tokens((section.heading, *block.lines))
            if room < 0:
                break
            blocks.append(block)
        if blocks:
            kept.append(SkillSection(section.heading, tuple(blocks)))
    return tuple(kept)
