"""Tests of skills as Markdown files, and of their index."""

from __future__ import annotations

import json

import pytest

from mcpgen.contract.skills import make_digest
from mcpgen.emit.output_checks import ProofFailedError, prove_contents
from mcpgen.ir.file_set import Owner, PlannedFile
from mcpgen.ir.skill_plan import (
    MAX_FILE_TOKENS,
    SkillBlock,
    SkillPlan,
    SkillSection,
    SkillText,
)
from mcpgen.render.skill_files import render_skills
from mcpgen.text.identifiers import Identifier
from tests.support.plans import server_plan

PACKAGE = Identifier("petstore_mcp")
FOLDER = "src/petstore_mcp/_generated"
SKILL = SkillPlan(
    "pets",
    'Care for "pets" \\ *today*.',
    (
        SkillText(
            "SKILL.md",
            "Pets & *more*",
            (
                SkillSection(
                    "Tools",
                    (
                        SkillBlock(
                            "list", ("`get_pet`: <b>one</b>", "# two: `references/food.md`")
                        ),
                        SkillBlock("steps", ("first", "second")),
                        SkillBlock("paragraph", ("- not a list", "another")),
                        SkillBlock("json", ("{", '  "a": "*b*"', "}")),
                    ),
                ),
            ),
            ("1. not a list",),
        ),
        SkillText("references/food.md", "Food", ()),
    ),
)


def rendered() -> dict[str, bytes]:
    files = render_skills(server_plan(), [SKILL])
    assert {file.owner for file in files} == {Owner.GENERATED}
    prove_contents(files, PACKAGE)
    return {file.path: file.content for file in files}


def test_a_skill_is_markdown_in_which_text_is_escaped() -> None:
    assert rendered()[f"{FOLDER}/skills/pets/SKILL.md"].decode() == (
        """\
---
name: "pets"
description: "Care for \\"pets\\" \\\\ *today*."
---

# Pets \\& \\*more\\*

1\\. not a list

## Tools

- `get_pet`: &lt;b>one&lt;/b>
- \\# two: [references/food.md](references/food.md)

1. first
2. second

\\- not a list

another

```json
{
  "a": "*b*"
}
```
"""
    )


def test_other_files_have_no_front_matter() -> None:
    assert rendered()[f"{FOLDER}/skills/pets/references/food.md"] == b"# Food\n"


def test_the_index_has_the_digest_and_the_size_of_each_file() -> None:
    files = rendered()
    (entry,) = json.loads(files[f"{FOLDER}/skills.json"])
    assert entry["uri"] == "skill://pets/SKILL.md"
    assert entry["frontmatter"] == {"name": "pets", "description": SKILL.description}
    assert entry["resources"] == [
        {
            "uri": f"skill://pets/{path}",
            "digest": make_digest(files[f"{FOLDER}/skills/pets/{path}"]),
            "size": len(files[f"{FOLDER}/skills/pets/{path}"]),
        }
        for path in ("SKILL.md", "references/food.md")
    ]


def test_a_server_without_skills_has_no_files() -> None:
    assert render_skills(server_plan(), []) == ()


@pytest.mark.parametrize(
    "content",
    [
        b"# No front matter\n",
        b'---\nname: "cats"\ndescription: "d"\n---\n',
        b'---\nname: "pets"\ndescription: ""\n---\n',
        b'---\nname: "pets"\ndescription: "d"\n---\n' + b"x" * MAX_FILE_TOKENS * 4,
    ],
)
def test_a_skill_that_hosts_would_not_load_is_a_bug_of_mcpgen(content: bytes) -> None:
    path = f"{FOLDER}/skills/pets/SKILL.md"
    with pytest.raises(ProofFailedError, match="SKILL"):
        prove_contents((PlannedFile(path, content, Owner.GENERATED),), PACKAGE)
