"""The skills that a server has, and their names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mcpgen.contract.frontmatter import MAX_NAME
from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.manifest_entries import SkillsEntry
from mcpgen.ir.skill_plan import SkillSubject
from mcpgen.ir.tool_plan import Toolset, WorkflowPlan
from mcpgen.plan.policy import Policy

MAX_TOOLSET_SKILLS: Final = 60
"""Hosts show the model a line about each skill, so that a server must not have hundreds."""
_HASH_DIGITS: Final = 8
_NO_WORD: Final = re.compile(r"[^a-z0-9]+")


def plan_skill_subjects(
    toolsets: Sequence[Toolset],
    workflows: Sequence[WorkflowPlan],
    policy: Policy,
    problems: Problems,
) -> tuple[SkillSubject, ...]:
    """Return what the skills are about: the API, then toolsets and workflows by name.

    With more than `MAX_TOOLSET_SKILLS` toolsets, only those that the manifest defines have skills.
    Unknown names in the manifest are errors.
    """
    stated = policy.manifest.skills
    if stated is False:
        return ()
    entry = stated if isinstance(stated, SkillsEntry) else SkillsEntry()
    server = policy.manifest.server.name
    by_toolset = [toolset.name for toolset in toolsets if toolset.tools]
    default = by_toolset
    if len(by_toolset) > MAX_TOOLSET_SKILLS:
        default = [name for name in by_toolset if name in policy.manifest.toolsets]
    chosen = _choose("toolsets", entry.toolsets, by_toolset, default, policy, problems)
    by_workflow = [workflow.name for workflow in workflows]
    flows = _choose("workflows", entry.workflows, by_workflow, by_workflow, policy, problems)
    taken: set[str] = set()

    def iterate_subjects() -> Iterator[SkillSubject]:
        if entry.api:
            yield SkillSubject(_choose_name(server, "", taken), "api")
        for name in chosen:
            yield SkillSubject(_choose_name(server, name, taken), "toolset", name)
        for name in flows:
            yield SkillSubject(_choose_name(server, name, taken), "workflow", name)

    return tuple(iterate_subjects())


def _choose(
    kind: str,
    stated: bool | tuple[str, ...],
    known: Sequence[str],
    default: Sequence[str],
    policy: Policy,
    problems: Problems,
) -> Iterable[str]:
    """Return the names that the manifest selects; report unknown ones."""
    if isinstance(stated, bool):
        return default if stated else ()
    for number, name in enumerate(stated):
        if name not in known:
            problems.error(
                "skill-unknown",
                f"unknown name under `skills.{kind}`: `{name}`",
                at=policy.intent.locate(("skills", kind, str(number))),
                why="the server would silently lack this skill",
                help=did_you_mean(name, known, "`mcpgen tools` lists what there is"),
            )
    return sorted({*stated} & {*known})


def _choose_name(server: str, of: str, taken: set[str]) -> str:
    """Return the name of a skill: that of the server, and words of its subject."""
    words = _NO_WORD.sub("-", of.lower()).strip("-")
    name = "-".join(filter(None, (server, words)))
    if len(name) > MAX_NAME or name in taken or (of and not words):
        digest = hashlib.sha256(f"{server} {of}".encode()).hexdigest()[:_HASH_DIGITS]
        name = f"{name[: MAX_NAME - _HASH_DIGITS - 1].strip('-')}-{digest}"
    taken.add(name)
    return name
