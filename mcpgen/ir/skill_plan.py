"""The plan of the skills of a server: their names, texts and files, before they are Markdown."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

MAX_FILE_TOKENS = 5_000  # of a file of a skill; a token is a quarter of the bytes of a text


class SkillSubject(Struct, frozen=True):
    """The subject of a skill."""

    name: str  # of the skill and of its folder: "bookshop-books"
    kind: Literal["api", "toolset", "workflow"]
    of: str = ""  # the name of the toolset or of the workflow


class SkillBlock(Struct, frozen=True):
    """Lines of text with code between backticks, or lines of JSON."""

    kind: Literal["paragraph", "list", "steps", "json"]
    lines: tuple[str, ...]


class SkillSection(Struct, frozen=True):
    """A section in a file of a skill: its heading, and the blocks of text below it."""

    heading: str
    blocks: tuple[SkillBlock, ...]


class SkillText(Struct, frozen=True):
    """A file of a skill: a title, an introduction, and sections."""

    path: str  # in the folder of the skill: "SKILL.md", "references/books.md"
    title: str
    sections: tuple[SkillSection, ...]
    introduction: tuple[str, ...] = ()  # paragraphs


class SkillPlan(Struct, frozen=True):
    """One skill."""

    name: str
    description: str  # what the skill is for and when to read it; at most 1,024 characters
    files: tuple[SkillText, ...]  # `SKILL.md` first, the others by path
