"""Rendering of the skills: Markdown files, and their index with digests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from mcpgen.contract.skills import SKILL_FILE, describe_content, make_uri
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile
from mcpgen.ir.skill_plan import SkillBlock, SkillPlan, SkillText
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.render import json_text
from mcpgen.render.environment import (
    Markdown,
    Quoted,
    code_environment,
    markdown_paragraph,
    markdown_text,
    quote,
)

TEMPLATE = "_generated/skills/file.md.jinja"


class SkillBlockView(Struct, frozen=True):
    """Lines of one kind."""

    lines: tuple[Markdown, ...]
    is_spaced: bool  # each line is a paragraph


class SkillSectionView(Struct, frozen=True):
    """A heading and what follows it."""

    heading: Markdown
    blocks: tuple[SkillBlockView, ...]


class SkillFileView(Struct, frozen=True):
    """A file of a skill. `name` and `description` are the front matter of `SKILL.md`."""

    title: Markdown
    introduction: tuple[Markdown, ...]
    sections: tuple[SkillSectionView, ...]
    name: Quoted | None = None
    description: Quoted | None = None


def render_skills(plan: ServerPlan, skills: Sequence[SkillPlan]) -> FileSet:
    """Write out the skills and their index; nothing if there are none."""
    if not skills:
        return ()
    folder = f"src/{plan.package}/_generated"
    files: dict[str, bytes] = {}
    entries: list[JsonObject] = []
    for skill in skills:
        contents = {f"{skill.name}/{text.path}": _render_file(skill, text) for text in skill.files}
        files |= {f"{folder}/skills/{path}": data for path, data in contents.items()}
        entries.append(
            {
                "uri": make_uri(f"{skill.name}/{SKILL_FILE}"),
                "frontmatter": {"name": skill.name, "description": skill.description},
                "resources": [describe_content(path, data) for path, data in contents.items()],
            }
        )
    files[f"{folder}/skills.json"] = json_text.wrap_tools(entries)
    return tuple(
        PlannedFile(path, content, Owner.GENERATED) for path, content in sorted(files.items())
    )


def _render_file(skill: SkillPlan, text: SkillText) -> bytes:
    is_main = text.path == SKILL_FILE
    paths = [file.path for file in skill.files if file.path != SKILL_FILE]
    view = SkillFileView(
        title=markdown_text(text.title),
        introduction=tuple(map(markdown_paragraph, text.introduction)),
        sections=tuple(
            SkillSectionView(
                markdown_text(section.heading),
                tuple(_make_block(block, paths) for block in section.blocks),
            )
            for section in text.sections
        ),
        name=quote(skill.name) if is_main else None,
        description=quote(skill.description) if is_main else None,
    )
    return code_environment().get_template(TEMPLATE).render(file=view).encode()


def _make_block(block: SkillBlock, paths: Iterable[str]) -> SkillBlockView:
    match block.kind:
        case "list":
            lines = [f"- {markdown_text(line)}" for line in block.lines]
        case "steps":
            lines = [f"{n}. {markdown_text(line)}" for n, line in enumerate(block.lines, 1)]
        case "json":
            lines = ["```json", *block.lines, "```"]
        case "paragraph":
            lines = list(map(markdown_paragraph, block.lines))
    if block.kind != "json":
        for path in paths:  # of files of this skill, whose names need no escaping
            lines = [line.replace(f"`{path}`", f"[{path}]({path})") for line in lines]
    return SkillBlockView(tuple(map(Markdown, lines)), block.kind == "paragraph")
